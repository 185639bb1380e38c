// `/docs/api`: every operation of the HTTP API, in groups, folded. An API key that is typed here stays in the memory of
// this page.

import { useSuspenseQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';

import { useSoon } from '../../shared/soon';
import { visible } from '../../shared/text/visible';
import { Empty } from '../../shared/ui/Empty';
import { Checkbox, TextField } from '../../shared/ui/Field';
import { Page } from '../../shared/ui/Page';
import { apiWords } from './apiWords';
import type { Key } from './credential';
import { DocsNavigation } from './DocsNavigation';
import styles from './Docs.module.css';
import { OperationDetails } from './OperationDetails';
import { Prose, Words } from './Prose';
import { referenceQuery } from './query';
import { type Operation, type Reference, filtered, grouped } from './reference';
import { words } from './words';

const w = apiWords.reference;

const EXACT = { includeHash: true } as const;

export function ApiPage() {
    const { data: reference } = useSuspenseQuery(referenceQuery);
    const [wanted, setWanted] = useState('');
    const [key, setKey] = useState<Key>({ token: '', isShown: false });
    const { soon } = useSoon(setWanted);
    const { open, unfold, toggle } = useOpened();
    const shown = useMemo(() => filtered(reference.operations, wanted), [reference, wanted]);
    const groups = grouped(shown, ({ tag }) => tag);
    return (
        <Page title={words.api}>
            <DocsNavigation />
            <p>
                {w.intro}
                <a href="/openapi.json" target="_blank" rel="noreferrer">
                    /openapi.json
                </a>
                .
            </p>
            <div className={styles.tools}>
                <KeyField value={key} onChange={setKey} />
                <TextField
                    label={w.filter}
                    type="search"
                    autoComplete="off"
                    maxLength={200}
                    placeholder={w.filterExample}
                    onChange={(event) => soon(event.target.value)}
                />
            </div>
            <Schemes schemes={reference.schemes} />
            <p role="status" className="muted small">
                {wanted === '' ? w.count(shown.length) : w.matching(shown.length, reference.operations.length)}
            </p>
            {shown.length === 0 && <Empty title={w.none} />}
            <div className={styles.columns}>
                <nav aria-label={w.list} className={styles.nav}>
                    <ul>
                        {groups.map(([tag, operations]) => (
                            <li key={tag}>
                                <Link to="/docs/api" hash={`tag-${tag}`} activeOptions={EXACT}>
                                    {visible(tag)}
                                </Link>
                                <ul>
                                    {operations.map(({ anchor, method, path }) => (
                                        <li key={anchor}>
                                            <Link
                                                to="/docs/api"
                                                hash={anchor}
                                                activeOptions={EXACT}
                                                onClick={() => unfold(anchor)}
                                            >
                                                <Method method={method} /> {visible(path)}
                                            </Link>
                                        </li>
                                    ))}
                                </ul>
                            </li>
                        ))}
                    </ul>
                </nav>
                <div className={styles.groups}>
                    {groups.map(([tag, operations]) => (
                        <section key={tag} aria-labelledby={`tag-${tag}`} className={styles.group}>
                            <h2 id={`tag-${tag}`}>{visible(tag)}</h2>
                            {operations.map((operation) => (
                                <Folded
                                    key={operation.anchor}
                                    operation={operation}
                                    isOpen={open.has(operation.anchor)}
                                    onToggle={() => toggle(operation.anchor)}
                                >
                                    <OperationDetails
                                        operation={operation}
                                        document={reference.document}
                                        apiKey={key}
                                    />
                                </Folded>
                            ))}
                        </section>
                    ))}
                </div>
            </div>
        </Page>
    );
}

/** Which operations are unfolded: the one that the address names, and those that somebody opened. */
function useOpened() {
    const hash = useLocation({ select: (location) => location.hash });
    const navigate = useNavigate();
    const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set([hash]));
    const unfold = (anchor: string): void => setOpen((now) => new Set([...now, anchor]));
    useEffect(() => unfold(hash), [hash]);
    const toggle = (anchor: string): void => {
        const opens = !open.has(anchor);
        setOpen(opens ? new Set([...open, anchor]) : new Set([...open].filter((one) => one !== anchor)));
        // The address follows the operation that was opened last, so it can be copied as a link.
        if (opens)
            void navigate({
                to: '/docs/api',
                hash: anchor,
                replace: true,
                resetScroll: false,
                hashScrollIntoView: false,
            });
    };
    return { open, unfold, toggle };
}

/** Uncontrolled: React would write the value of a controlled field into the document. */
const KeyField = ({ value, onChange }: { value: Key; onChange: (key: Key) => void }) => (
    <div>
        <TextField
            label={w.key}
            type="password"
            autoComplete="off"
            spellCheck={false}
            maxLength={500}
            placeholder="crtx_…"
            hint={w.keyHint}
            onChange={(event) => onChange({ ...value, token: event.target.value.trim() })}
        />
        <Checkbox
            label={w.showKey}
            checked={value.isShown}
            onChange={(event) => onChange({ ...value, isShown: event.target.checked })}
        />
    </div>
);

const Schemes = ({ schemes }: { schemes: Reference['schemes'] }) => (
    <details className={styles.more}>
        <summary>{w.credentials}</summary>
        <dl className={styles.answers}>
            {schemes.map(({ name, description }) => (
                <div key={name}>
                    <dt>{visible(name.replaceAll('_', ' '))}</dt>
                    <dd>
                        <Prose text={description} />
                    </dd>
                </div>
            ))}
        </dl>
    </details>
);

export const Method = ({ method }: { method: string }) => (
    <span className={styles.method} data-method={method}>
        {method}
    </span>
);

type FoldedProps = { operation: Operation; isOpen: boolean; onToggle: () => void; children: ReactNode };

/** Renders its content when it is opened first, and keeps it then, so that nothing that was typed in it is lost. */
function Folded({ operation: { anchor, method, path, summary }, isOpen, onToggle, children }: FoldedProps) {
    const [wasOpen, setWasOpen] = useState(isOpen);
    if (isOpen && !wasOpen) setWasOpen(true);
    return (
        <article id={anchor} className={styles.operation}>
            <h3>
                <button type="button" aria-expanded={isOpen} aria-controls={`${anchor}.body`} onClick={onToggle}>
                    <Method method={method} />
                    <code>{visible(path)}</code>
                    <span className={styles.summary}>
                        <Words text={summary} />
                    </span>
                </button>
            </h3>
            <div id={`${anchor}.body`} hidden={!isOpen} className={styles.body}>
                {wasOpen && children}
            </div>
        </article>
    );
}
