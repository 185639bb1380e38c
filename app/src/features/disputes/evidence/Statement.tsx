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
import { words } from '../words';

const t = words.statement;

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
                <Address value={hash} what={t.hash} ends={12} />
            </p>
            {uri !== null && uri !== `ipfs://${contentPath(hash).slice('/ipfs/'.length)}` && (
                <p className="small muted">
                    {t.elsewhere} <UserText text={uri} />
                </p>
            )}
        </section>
    );
}

/** A word in place of a colour alone. */
const Verdict = ({ fetched, isOnChain }: { fetched: Fetched | undefined; isOnChain: boolean }) => {
    if (fetched === undefined) return <Badge>{t.checking}</Badge>;
    if (fetched.state === 'missing') return <Badge kind="warn">{t.missing}</Badge>;
    if (fetched.state === 'altered') return <Badge kind="bad">{t.altered}</Badge>;
    return isOnChain ? <Badge kind="good">{t.same}</Badge> : <Badge kind="warn">{t.notRead}</Badge>;
};

function Found({ fetched, hash, onRetry }: { fetched: Fetched; hash: string; onRetry: () => void }) {
    const content = useMemo(() => (fetched.state === 'whole' ? readDocument(fetched.bytes) : null), [fetched]);
    if (fetched.state === 'missing') {
        return (
            <Notice kind="warn" title={t.missingTitle}>
                <p>{t.missingHint}</p>
                <div>
                    <Button onPress={onRetry}>{words.lookAgain}</Button>
                </div>
            </Notice>
        );
    }
    if (fetched.state === 'altered' || content === null) {
        return (
            <Notice kind="bad" title={t.alteredTitle}>
                <p>{t.alteredHint}</p>
            </Notice>
        );
    }
    if (content.kind === 'bytes') {
        return (
            <p>
                {t.bytes} <Download hash={hash} name={t.bytesName} />
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
    <ul className={styles.list} aria-label={t.files}>
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
                <Badge kind="good">{t.matches}</Badge>
            ) : error ? (
                <Badge kind="warn">{t.notChecked}</Badge>
            ) : fetched === undefined ? (
                <Badge>{t.checking}</Badge>
            ) : fetched.state === 'missing' ? (
                <Badge kind="warn">{t.missing}</Badge>
            ) : (
                <Badge kind="bad">{t.fileAltered}</Badge>
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
        aria-label={t.saveFile(visible(name.slice(0, MAX_LABEL)))}
    >
        {t.save}
    </a>
);
