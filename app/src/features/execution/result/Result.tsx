// The result of an execution: JSON as a tree, everything else as plain text. Nothing in it becomes markup or a link.

import { useMemo, useState } from 'react';

import { UserBlock } from '../../../shared/text/UserText';
import { Button } from '../../../shared/ui/Button';
import { Copy } from '../../../shared/ui/Copy';
import styles from '../Execution.module.css';
import { words } from '../words';
import { JsonTree } from './JsonTree';

const w = words.result;

export type ResultProps = { text: string; executionId: string };

export function Result({ text, executionId }: ResultProps) {
    const json = useMemo(() => readTree(text), [text]);
    const [asText, setAsText] = useState(false);
    const isTree = json !== null && !asText;
    return (
        <section className="stack" aria-labelledby="result">
            <div className={styles.heading}>
                <h2 id="result">{w.title}</h2>
                <div className="row">
                    {json !== null && (
                        <Button look="text" onPress={() => setAsText(!asText)}>
                            {isTree ? w.asText : w.asTree}
                        </Button>
                    )}
                    <Copy text={text} what={w.copy} />
                    <Button look="text" onPress={() => save(text, `result-${executionId}.txt`)}>
                        {w.save}
                    </Button>
                </div>
            </div>
            <div className={styles.document}>
                {isTree ? (
                    <JsonTree value={json.value} open={2} />
                ) : text === '' ? (
                    <p className="muted">{w.empty}</p>
                ) : (
                    <UserBlock text={text} code={json !== null} />
                )}
            </div>
        </section>
    );
}

/** Objects and lists; a single number or word is shown as it was sent. */
function readTree(text: string): { value: object } | null {
    if (!/^\s*[[{]/.test(text)) return null;
    try {
        const value: unknown = JSON.parse(text);
        return typeof value === 'object' && value !== null ? { value } : null;
    } catch {
        return null;
    }
}

/** As plain text, so that no program opens it as anything else. */
function save(text: string, name: string): void {
    const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
