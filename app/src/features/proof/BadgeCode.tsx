// The badge of an agent for its creator's site: the code to paste, as HTML and as Markdown.

import { Copy } from '../../shared/ui/Copy';
import command from '../../shared/ui/Command.module.css';
import { badgeCodes } from './badge';
import styles from './Proof.module.css';
import { words } from './words';

export type BadgeCodeProps = { agentId: string; /** As its creator wrote it. */ name: string };

export function BadgeCode({ agentId, name }: BadgeCodeProps) {
    const { html, markdown, badge } = badgeCodes(agentId, name, window.location.origin);
    return (
        <section className="stack" aria-labelledby="badge-code">
            <h2 id="badge-code">{words.badge}</h2>
            <p>
                {words.badgeText}{' '}
                <a href={badge} target="_blank" rel="noreferrer">
                    {words.badgeOpen}
                </a>
            </p>
            <Code kind={words.badgeHtml} text={html} />
            <Code kind={words.badgeMarkdown} text={markdown} />
        </section>
    );
}

const Code = ({ kind, text }: { kind: string; text: string }) => (
    <div className={styles.code}>
        <h3>{kind}</h3>
        <div className={command.command}>
            <code className={styles.url}>{text}</code>
            <Copy text={text} what={`${kind} code`} />
        </div>
    </div>
);
