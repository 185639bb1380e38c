// The public proof of one execution: for anybody, without a wallet and without the API. This browser reads chain and
// content itself.

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';

import { StoredExecutionStatus as Status } from '../../chain/stored';
import { lastNetwork } from '../../shared/api/lastNetwork';
import { networkQuery } from '../../shared/api/queries';
import { Address } from '../../shared/ui/Address';
import { Button } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { LinkedNode } from './LinkedNode';
import { type ChosenNode, type SiteNode, firstNode, linkNode } from './node';
import { NodeChoice } from './NodeChoice';
import { Proof } from './Proof';
import styles from './Proof.module.css';
import { chainQuery } from './query';
import { words } from './words';

const route = getRouteApi('/proof/$record');

export function ProofPage() {
    const { record } = route.useParams();
    const hints = route.useSearch();
    const [chosen, setChosen] = useState<ChosenNode | null>(null);
    const site = useSiteNode();
    const node = chosen ?? (site === undefined ? null : firstNode(hints, site));
    const linked = chosen === null ? linkNode(hints, node) : null;
    return (
        <Page title={words.title}>
            <div className={styles.facts}>
                <Address value={record} what="record address" ends={8} />
            </div>
            {site === undefined && node === null ? (
                <Skeleton height="12rem" />
            ) : (
                <>
                    {linked !== null && (
                        <LinkedNode url={linked} onAsk={() => setChosen({ url: linked, source: 'link' })} />
                    )}
                    {node === null ? (
                        <section className="stack" aria-labelledby="choose">
                            <h2 id="choose">{words.chooseNode}</h2>
                            <p>{words.whyChoose}</p>
                            <NodeChoice onChoose={setChosen} />
                        </section>
                    ) : (
                        <Read key={node.url} record={record} node={node} onChoose={setChosen} />
                    )}
                </>
            )}
        </Page>
    );
}

/** What this address says of its network, or has said last; `undefined`: not known yet; `null`: it says nothing. */
function useSiteNode(): SiteNode | null | undefined {
    const [kept] = useState(lastNetwork);
    const { data, isError } = useQuery(networkQuery);
    if (data !== undefined) return data.rpc_url === null ? null : { network: data.network, rpcUrl: data.rpc_url };
    return kept ?? (isError ? null : undefined);
}

type ReadProps = { record: string; node: ChosenNode; onChoose: (node: ChosenNode) => void };

function Read({ record, node, onChoose }: ReadProps) {
    const { data, error, dataUpdatedAt, refetch, isFetching } = useQuery(chainQuery(record, node.url));
    const other = (
        <details className={styles.other}>
            <summary>{words.otherNode}</summary>
            <NodeChoice onChoose={onChoose} />
        </details>
    );
    if (error !== null && !isFetching) {
        return (
            <>
                <Notice kind="bad" title={words.noAnswer}>
                    <p role="alert">{words.noAnswerText(node.url, error.message.slice(0, 200))}</p>
                    <p>
                        <Button onPress={() => void refetch()}>{words.tryAgain}</Button>
                    </p>
                </Notice>
                {other}
            </>
        );
    }
    if (data === undefined) {
        return (
            <>
                <p role="status">{words.reading}</p>
                <Skeleton height="20rem" />
                {other}
            </>
        );
    }
    const { record: found } = data.chain;
    if ('missing' in found || found.value.status === Status.Open) {
        return (
            <>
                <NothingToProve isOpen={'value' in found} />
                <p className="small">
                    {words.node}: <span className={`mono ${styles.url}`}>{node.url}</span>. {words.sources[node.source]}
                </p>
                {other}
            </>
        );
    }
    return <Proof read={data} readAt={dataUpdatedAt} node={node} other={other} />;
}

const NothingToProve = ({ isOpen }: { isOpen: boolean }) => (
    <div role="status">
        <Notice kind="warn" title={isOpen ? words.open : words.notFound}>
            <p>{isOpen ? words.openText : words.notFoundText}</p>
        </Notice>
    </div>
);
