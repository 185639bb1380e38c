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
import { Action } from '../act/Action';
import { asStopper } from '../act/requests';
import { suspensionQuery } from './query';
import { words } from '../words';

const SUSPENDS = [words.suspendAgent.stops, words.suspendAgent.goesOn, words.suspendAgent.lasts];
const RESUMES = [words.suspendAgent.resumes];

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
        <Panel title={words.suspendAgent.title}>
            <p className="row">
                <Badge kind={isSuspended ? 'warn' : 'good'}>
                    {isSuspended ? words.suspendAgent.suspended : words.suspendAgent.notSuspended}
                </Badge>
                {isSuspended && !mayResume && words.suspendAgent.adminOnly}
            </p>
            <Action
                label={isSuspended ? words.suspendAgent.resume : words.suspendAgent.suspend}
                question={isSuspended ? words.suspendAgent.askResume : words.suspendAgent.askSuspend}
                isDangerous={!isSuspended}
                isGone={isSuspended && !mayResume}
                effects={isSuspended ? RESUMES : SUSPENDS}
                make={asStopper(isSuspended, async (authority, { rpc }) => {
                    const now = await readListing(rpc, agent);
                    if (now === null) throw new Error(words.suspendAgent.gone);
                    if ((now.suspended !== 0) !== isSuspended)
                        throw new Error(words.suspendAgent.already(isSuspended ? 'not suspended' : 'suspended'));
                    return getSuspendAgentInstructionAsync({ authority, agent, suspended: !isSuspended });
                })}
                done={isSuspended ? words.suspendAgent.resumed : words.suspendAgent.done}
            />
        </Panel>
    );
}
