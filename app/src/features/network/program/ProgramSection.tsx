// The program that holds the money: which code runs, whether it is the one that is published, and who can replace it.

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import type { Schemas } from '../../../shared/api/client';
import { formatCount } from '../../../shared/figures';
import { Badge } from '../../../shared/ui/Badge';
import { Button } from '../../../shared/ui/Button';
import { Copy } from '../../../shared/ui/Copy';
import { Failure } from '../../../shared/ui/Failure';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { RoleHolder } from '../../market';
import styles from '../Network.module.css';
import { Section } from '../Section';
import { COMMITTED_PROGRAM } from './committed';
import { words } from '../words';
import { type DeployedProgram, type Deployment, deploymentQuery, programQuery } from './read';

const w = words.program;

export function ProgramSection({ network }: { network: Schemas['NetworkResponse'] }) {
    const { program_id, usdc_mint, addresses, rpc_url, genesis_hash } = network;
    const { data, error, refetch } = useQuery(deploymentQuery(rpc_url, program_id));
    return (
        <Section title={w.title}>
            <Figures>
                <Figure name={w.program}>
                    <RoleHolder address={program_id} />
                </Figure>
                <Figure name={w.config}>
                    <RoleHolder address={addresses.config} />
                </Figure>
                <Figure name={w.events}>
                    <RoleHolder address={addresses.event_authority} />
                </Figure>
                <Figure name={w.usdc}>
                    <RoleHolder address={usdc_mint} />
                </Figure>
                <Figure name={w.network}>{network.chain}</Figure>
                <Figure name={w.genesis} isWide>
                    <span className={styles.hash}>{genesis_hash ?? w.notKnown}</span>
                </Figure>
            </Figures>
            <h3>{w.code}</h3>
            {rpc_url === null ? (
                <p className="muted">{w.noNode}</p>
            ) : error ? (
                <Failure error={error} onRetry={() => void refetch()} />
            ) : data === undefined ? (
                <Skeleton height="12rem" />
            ) : (
                <Deployed deployment={data} rpcUrl={rpc_url} programId={program_id} />
            )}
        </Section>
    );
}

type DeployedProps = { deployment: Deployment; rpcUrl: string; programId: string };

function Deployed({ deployment: { slot, authority, dataAddress }, rpcUrl, programId }: DeployedProps) {
    const [isWanted, setWanted] = useState(false);
    const { data, error, isFetching, refetch } = useQuery(programQuery(rpcUrl, programId, isWanted));
    return (
        <>
            <Figures>
                <Figure name={w.slot}>{slot === 0n ? w.atStart : formatCount(Number(slot))}</Figure>
                <Figure name={w.authority}>{authority === null ? w.nobody : <RoleHolder address={authority} />}</Figure>
                <Figure name={w.account}>
                    <RoleHolder address={dataAddress} />
                </Figure>
                <Figure name={w.fileHash} isWide>
                    <span className={styles.hash}>{COMMITTED_PROGRAM.sha256}</span>{' '}
                    <Copy text={COMMITTED_PROGRAM.sha256} what={w.fileHashCopy} />
                </Figure>
            </Figures>
            {data === undefined && (
                <>
                    <p>{w.about}</p>
                    <Button isDisabled={isFetching} onPress={() => setWanted(true)}>
                        {isFetching ? w.reading : w.check}
                    </Button>
                </>
            )}
            {error && <Failure error={error} onRetry={() => void refetch()} />}
            <div role="status">{data && <Code program={data} />}</div>
        </>
    );
}

const Code = ({ program }: { program: DeployedProgram }) => (
    <>
        <p>
            <Badge kind={program.isCommitted ? 'good' : 'bad'}>{program.isCommitted ? w.same : w.other}</Badge>{' '}
            {program.isCommitted ? w.sameText : w.otherText}
        </p>
        <Figures>
            <Figure name={w.codeHash} isWide>
                <span className={styles.hash}>{program.hash}</span> <Copy text={program.hash} what={w.codeHashCopy} />
            </Figure>
            <Figure name={w.bytes}>{formatCount(program.bytes)}</Figure>
        </Figures>
        <p className="small muted">{w.zeros}</p>
    </>
);
