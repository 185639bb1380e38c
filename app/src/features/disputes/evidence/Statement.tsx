// What a party said, with the hash that the chain has: checked in this browser. Texts are text; files are only saved.

import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

import { contentPath } from '../../../shared/content';
import { UserBlock, UserText } from '../../../shared/text/UserText';
import { visible } from '../../../shared/text/visible';
import { Address } from '../../../shared/ui/Address';
import { Badge } from '../../../shared/ui/Badge';
import { Button } from '../../../shared/ui/Button';
import { Failure } from '../../../shared/ui/Failure';
import { Notice } from '../../../shared/ui/Notice';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { Time } from '../../../shared/ui/Time';
import { type NamedFile, readDocument, savedName } from './document';
import { sizeText } from './draft';
import styles from './Evidence.module.css';
import { type Fetched, contentQuery } from './read';

/** Characters of a name in a label. */
const MAX_LABEL = 100;

export type StatementProps = {
    /** Also the name of the section. */
    title: string;
    /** The wallet that said it. */
    by?: string;
    at: string;
    /** As the chain has it, or as the service states it while the chain is not read. */
    hash: string;
    isOnChain: boolean;
    /** Where the party says that the document is. */
    uri: string | null;
};

export function Statement({ title, by, at, hash, isOnChain, uri }: StatementProps) {
    const content = useQuery(contentQuery(hash));
    const headingId = `statement-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`;
    return (
        <section className={styles.statement} aria-labelledby={headingId}>
            <div className={styles.head}>
                <h2 id={headingId}>{title}</h2>
                <p className="row small muted">
                    {by !== undefined && <Address value={by} />}
                    <Time iso={at} />
                </p>
            </div>
            {content.error ? (
                <Failure error={content.error} onRetry={() => void content.refetch()} />
            ) : content.data === undefined ? (
                <Skeleton height="8rem" />
            ) : (
                <Found fetched={content.data} hash={hash} onRetry={() => void content.refetch()} />
            )}
            <p className="row small">
                <Verdict fetched={content.data} isOnChain={isOnChain} />
                <Address value={hash} what="hash" ends={12} />
            </p>
            {uri !== null && uri !== `ipfs://${contentPath(hash).slice('/ipfs/'.length)}` && (
                <p className="small muted">
                    The chain names another place of it, which this page does not open: <UserText text={uri} />
                </p>
            )}
        </section>
    );
}

/** A word in place of a colour alone. */
const Verdict = ({ fetched, isOnChain }: { fetched: Fetched | undefined; isOnChain: boolean }) => {
    if (fetched === undefined) return <Badge>Being checked …</Badge>;
    if (fetched.state === 'missing') return <Badge kind="warn">Not stored here</Badge>;
    if (fetched.state === 'altered') return <Badge kind="bad">Not what the chain names</Badge>;
    return isOnChain ? <Badge kind="good">Same as on the chain</Badge> : <Badge kind="warn">Chain not read</Badge>;
};

function Found({ fetched, hash, onRetry }: { fetched: Fetched; hash: string; onRetry: () => void }) {
    const content = useMemo(() => (fetched.state === 'whole' ? readDocument(fetched.bytes) : null), [fetched]);
    if (fetched.state === 'missing') {
        return (
            <Notice kind="warn" title="The document is not stored here">
                <p>
                    The chain has its hash, and nobody has handed the document in at this service. Its author can do it
                    at any time.
                </p>
                <div>
                    <Button onPress={onRetry}>Look again</Button>
                </div>
            </Notice>
        );
    }
    if (fetched.state === 'altered' || content === null) {
        return (
            <Notice kind="bad" title="This is not the document">
                <p>The service sent other bytes than those that the chain names, so they are not shown.</p>
            </Notice>
        );
    }
    if (content.kind === 'bytes') {
        return (
            <p>
                The document is no text. <Download hash={hash} name="evidence" />
            </p>
        );
    }
    return (
        <>
            <div className={styles.text}>
                <UserBlock text={content.text} />
            </div>
            {content.kind === 'document' && content.files.length > 0 && <FileList files={content.files} />}
        </>
    );
}

const FileList = ({ files }: { files: readonly NamedFile[] }) => (
    <ul className={styles.list} aria-label="Files">
        {files.map((file, index) => (
            <FileRow key={index} file={file} />
        ))}
    </ul>
);

function FileRow({ file: { name, media_type, size, hash } }: { file: NamedFile }) {
    const { data: fetched, error } = useQuery(contentQuery(hash));
    const isWhole = fetched?.state === 'whole' && fetched.bytes.length === size;
    return (
        <li>
            <span className={styles.name}>
                <UserText text={name} />
                <span className="small muted">
                    <UserText text={media_type} /> · {sizeText(size)}
                </span>
            </span>
            {isWhole ? (
                <Badge kind="good">Hash matches</Badge>
            ) : error ? (
                <Badge kind="warn">Not checked</Badge>
            ) : fetched === undefined ? (
                <Badge>Being checked …</Badge>
            ) : fetched.state === 'missing' ? (
                <Badge kind="warn">Not stored here</Badge>
            ) : (
                <Badge kind="bad">Altered</Badge>
            )}
            {isWhole && <Download hash={hash} name={name} />}
        </li>
    );
}

/** Served with `sandbox`; saved and not opened, under a name that no system runs. */
const Download = ({ hash, name }: { hash: string; name: string }) => (
    <a
        href={contentPath(hash)}
        download={savedName(name, hash)}
        aria-label={`Save ${visible(name.slice(0, MAX_LABEL))}`}
    >
        Save
    </a>
);
