// A proof that was read: one sentence, four groups of checks, the execution, its result, and what all of it rests on.

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';

import { uuidText } from '../../chain/record';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../../generated/programs';
import { Failure } from '../../shared/ui/Failure';
import { Skeleton } from '../../shared/ui/Skeleton';
import { Result, need } from '../execution';
import { ContentChoice } from './ContentChoice';
import { ExecutionFacts } from './ExecutionFacts';
import { Groups } from './Groups';
import { type ChosenNode, networkOf } from './node';
import styles from './Proof.module.css';
import { type ContentSource, type ReadChain, reportQuery } from './query';
import { Verdict } from './Verdict';
import { words } from './words';

export type ProofProps = {
    read: ReadChain;
    readAt: number;
    node: ChosenNode;
    /** The choice of another node. */ other: ReactNode;
};

export function Proof({ read, readAt, node, other }: ProofProps) {
    const { chain, genesisHash } = read;
    const [source, setSource] = useState<ContentSource>({ kind: 'here' });
    const { data: report, error } = useQuery(reportQuery(read, readAt, source));
    const record = need(chain.record);
    if (error !== null) return <Failure error={error} />;
    return (
        <>
            <div role="status">
                {report === undefined ? <p>{words.checking}</p> : <Verdict chain={chain} report={report} node={node} />}
            </div>
            {report === undefined ? <Skeleton height="16rem" /> : <Groups report={report} />}
            {typeof report?.contentMissing === 'string' && (
                <ContentChoice why={report.contentMissing} source={source} onChoose={setSource} />
            )}
            <div className={styles.pair}>
                <ExecutionFacts chain={chain} />
                <section className={styles.asked} aria-labelledby="node">
                    <h2 id="node">{words.node}</h2>
                    <p>
                        <strong className={`mono ${styles.url}`}>{node.url}</strong> {words.sources[node.source]}{' '}
                        {words.network(networkOf(genesisHash))}
                    </p>
                    {other}
                </section>
            </div>
            {typeof report?.text === 'string' && (
                <Result text={report.text} executionId={uuidText(record.executionId)} />
            )}
            <Trusted />
        </>
    );
}

const Trusted = () => (
    <details className={styles.other}>
        <summary>{words.trust}</summary>
        <ul className={styles.trusted}>
            <li>{words.trustNode}</li>
            <li>
                {words.trustProgram} <span className={`mono ${styles.url}`}>{AGENT_MARKETPLACE_PROGRAM_ADDRESS}</span>
            </li>
            <li>{words.trustCode}</li>
            <li>{words.trustNone}</li>
        </ul>
    </details>
);
