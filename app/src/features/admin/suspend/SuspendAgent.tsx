// The emergency stop for one agent, on its page. The admin or the guardian suspends it; only the admin resumes it.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';

import { readListing } from '../../../chain/listing';
import { StoredAgentStatus } from '../../../chain/stored';
import { getSuspendAgentInstructionAsync } from '../../../generated/instructions/suspendAgent';
import { networkQuery } from '../../../shared/api/queries';
import { Badge } from '../../../shared/ui/Badge';
import { Failure } from '../../../shared/ui/Failure';
import { Panel } from '../../../shared/ui/Panel';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { waitForIndex } from '../../../shared/wallet/indexed';
import { Action } from '../act/Action';
import { asStopper } from '../act/requests';
import { suspensionQuery } from './query';

const SUSPENDS = [
    'At once: nobody can call this agent, with a wallet or with an API key. It leaves the lists.',
    'Calls under way, refunds, disputes and withdrawals of it go on as before. Other agents are not touched.',
    'It lasts until the admin resumes the agent. Its creator cannot.',
];
const RESUMES = ['At once: everybody can call the agent again, unless its creator has paused it.'];

export type SuspendAgentProps = { agentId: string; /** The guardian only suspends. */ mayResume: boolean };

export default function SuspendAgent({ agentId, mayResume }: SuspendAgentProps) {
    const agent = agentId as Address;
    const { data: network } = useQuery(networkQuery);
    const rpcUrl = network?.rpc_url ?? '';
    const { data: listing, error, refetch } = useQuery(suspensionQuery(agent, rpcUrl));
    if (rpcUrl === '' || listing === null) return null;
    if (listing === undefined)
        return error ? <Failure error={error} onRetry={() => void refetch()} /> : <Skeleton height="12rem" />;
    if (listing.status === StoredAgentStatus.Delisted) return null;
    const isSuspended = listing.suspended !== 0;
    return (
        <Panel title="Suspension">
            <p className="row">
                <Badge kind={isSuspended ? 'warn' : 'good'}>{isSuspended ? 'Suspended' : 'Not suspended'}</Badge>
                {isSuspended && !mayResume && 'Only the admin can resume it.'}
            </p>
            <Action
                label={isSuspended ? 'Resume this agent' : 'Suspend this agent'}
                question={isSuspended ? 'Resume this agent for everybody?' : 'Suspend this agent for everybody?'}
                isDangerous={!isSuspended}
                isGone={isSuspended && !mayResume}
                effects={isSuspended ? RESUMES : SUSPENDS}
                make={asStopper(isSuspended, async (authority, { rpc }) => {
                    const now = await readListing(rpc, agent);
                    if (now === null) throw new Error('The chain has no such agent any more. It was closed.');
                    if ((now.suspended !== 0) !== isSuspended)
                        throw new Error(`The agent is ${isSuspended ? 'not suspended' : 'suspended'} already.`);
                    return getSuspendAgentInstructionAsync({ authority, agent, suspended: !isSuspended });
                })}
                after={async (signature) => {
                    await waitForIndex(rpcUrl, signature);
                }}
                done={isSuspended ? 'The agent is resumed.' : 'The agent is suspended.'}
            />
        </Panel>
    );
}
