// The program that holds the money: which code runs, whether it is the one that is published, and who can replace it.

import { useQuery } from '@tanstack/react-query';

import type { Schemas } from '../../../shared/api/client';
import { formatCount } from '../../../shared/figures';
import { Badge } from '../../../shared/ui/Badge';
import { Copy } from '../../../shared/ui/Copy';
import { Failure } from '../../../shared/ui/Failure';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { RoleHolder } from '../../market';
import styles from '../Network.module.css';
import { Section } from '../Section';
import { COMMITTED_PROGRAM } from './committed';
import { type DeployedProgram, programQuery } from './read';

export function ProgramSection({ network }: { network: Schemas['NetworkResponse'] }) {
    const { program_id, usdc_mint, addresses, rpc_url, genesis_hash } = network;
    const { data, error, refetch } = useQuery(programQuery(rpc_url, program_id));
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
                <Code program={data} />
            )}
        </Section>
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
            <Figure name="SHA-256 of the published file" isWide>
                <span className={styles.hash}>{COMMITTED_PROGRAM.sha256}</span>{' '}
                <Copy text={COMMITTED_PROGRAM.sha256} what="hash of the file" />
            </Figure>
            <Figure name="Bytes of code">{formatCount(program.bytes)}</Figure>
            <Figure name="Deployed in slot">
                {program.slot === 0n ? 'at the start' : formatCount(Number(program.slot))}
            </Figure>
            <Figure name="Can be replaced by">
                {program.authority === null ? 'nobody' : <RoleHolder address={program.authority} />}
            </Figure>
            <Figure name="Account of the code">
                <RoleHolder address={program.dataAddress} />
            </Figure>
        </Figures>
        <p className="small muted">
            The file ends with zeros. Solana’s tools leave zeros at the end out, so the two hashes differ although the
            code is the same.
        </p>
    </>
);
