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
import { type DeployedProgram, type Deployment, deploymentQuery, programQuery } from './read';

export function ProgramSection({ network }: { network: Schemas['NetworkResponse'] }) {
    const { program_id, usdc_mint, addresses, rpc_url, genesis_hash } = network;
    const { data, error, refetch } = useQuery(deploymentQuery(rpc_url, program_id));
    return (
        <Section title="Program">
            <Figures>
                <Figure name="Program">
                    <RoleHolder address={program_id} />
                </Figure>
                <Figure name="Configuration">
                    <RoleHolder address={addresses.config} />
                </Figure>
                <Figure name="Signs the events">
                    <RoleHolder address={addresses.event_authority} />
                </Figure>
                <Figure name="USDC">
                    <RoleHolder address={usdc_mint} />
                </Figure>
                <Figure name="Network">{network.chain}</Figure>
                <Figure name="First block of the network" isWide>
                    <span className={styles.hash}>{genesis_hash ?? 'not known yet'}</span>
                </Figure>
            </Figures>
            <h3>Code on chain</h3>
            {rpc_url === null ? (
                <p className="muted">This service names no node for browsers, so this page cannot read the code.</p>
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
                <Figure name="Deployed in slot">{slot === 0n ? 'at the start' : formatCount(Number(slot))}</Figure>
                <Figure name="Can be replaced by">
                    {authority === null ? 'nobody' : <RoleHolder address={authority} />}
                </Figure>
                <Figure name="Account of the code">
                    <RoleHolder address={dataAddress} />
                </Figure>
                <Figure name="SHA-256 of the published file" isWide>
                    <span className={styles.hash}>{COMMITTED_PROGRAM.sha256}</span>{' '}
                    <Copy text={COMMITTED_PROGRAM.sha256} what="hash of the file" />
                </Figure>
            </Figures>
            {data === undefined && (
                <>
                    <p>
                        Your browser can read the code from the chain, about 600 kB, and compare it with the published
                        file.
                    </p>
                    <Button isDisabled={isFetching} onPress={() => setWanted(true)}>
                        {isFetching ? 'Reading the code …' : 'Check the program in this browser'}
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
            <Badge kind={program.isCommitted ? 'good' : 'bad'}>
                {program.isCommitted ? 'The published code' : 'Other code'}
            </Badge>{' '}
            {program.isCommitted
                ? 'Your browser read the code and computed its hash. It is byte for byte the file that belongs to this dashboard.'
                : 'Your browser read the code and computed its hash. It is not the file that belongs to this dashboard. Look for a newer version before you pay.'}
        </p>
        <Figures>
            <Figure name="SHA-256 of the code, as solana-verify prints it" isWide>
                <span className={styles.hash}>{program.hash}</span> <Copy text={program.hash} what="hash" />
            </Figure>
            <Figure name="Bytes of code">{formatCount(program.bytes)}</Figure>
        </Figures>
        <p className="small muted">
            The file ends with zeros. Solana’s tools leave zeros at the end out, so the two hashes differ although the
            code is the same.
        </p>
    </>
);
