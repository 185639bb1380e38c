// One execution as the service has it, and as the chain has it. Both are asked again while it goes on.

import { type Address, createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { History } from '../../chain/history';
import { readExecution } from '../../chain/record';
import { StoredExecutionStatus, StoredSettler } from '../../chain/stored';
import { type Ending, type Opening, findEnding, findOpening } from '../../chain/story';
import type { ExecutionRecord } from '../../generated/accounts/executionRecord';
import { ApiError, type Schemas, api, asWallet, body } from '../../shared/api/client';
import { unlessFollowed } from '../../shared/wallet/events';
import { SELDOM_MS } from '../../shared/seldom';

export type Execution = Schemas['ExecutionResponse'];

/** The execution ended before any money moved: neither the service nor the chain knows a record of it. */
export const isUnopened = (execution: Execution | null, onChain: OnChain | undefined): boolean =>
    execution?.binding === null && onChain?.opening === null && onChain.ending === null;

/** While an execution goes on, if no event tells of it: at first and at the most. Most end within a second. */
const FIRST_ASK_MS = 150;
const ASK_MS = 1_000;
/** How often they are asked like that for what should be there soon; then seldom, if it still can come. */
const MAX_LOOKS = 20;
const pauseAfter = (looks: number): number => (looks < MAX_LOOKS ? ASK_MS : SELDOM_MS);

export const isUnderWay = ({ status }: Pick<Execution, 'status'>): boolean =>
    status === 'pending' || status === 'running';

/** `null`: the service does not show this execution to the wallet. `isAwaited`: it will appear. */
export const executionQuery = (
    executionId: string,
    wallet: string | undefined,
    isAwaited: boolean,
    isSignedIn = true,
) =>
    queryOptions({
        queryKey: ['execution', executionId, wallet] as const,
        queryFn: async ({ signal }): Promise<Execution | null> => {
            try {
                const path = { params: { path: { execution_id: executionId } }, signal };
                return await body(api.GET('/v1/executions/{execution_id}', { ...asWallet(wallet ?? ''), ...path }));
            } catch (error) {
                if (error instanceof ApiError && error.status === 404) return null;
                throw error;
            }
        },
        enabled: wallet !== undefined && isSignedIn,
        refetchInterval: ({ state: { data, dataUpdateCount } }) =>
            data
                ? isUnderWay(data) && unlessFollowed(Math.min(FIRST_ASK_MS * 2 ** dataUpdateCount, ASK_MS))
                : isAwaited && pauseAfter(dataUpdateCount),
    });

/** What the chain says: the record if it is there, and the transactions that opened and ended it. */
export type OnChain = {
    readonly isOpen: boolean;
    readonly deadline: number | null;
    /** Of the record, as long as it is there. */
    readonly amount: bigint | null;
    readonly feeBps: number | null;
    /** Until when its caller can raise a dispute; `null`: not possible, or not any more. */
    readonly disputableUntil: number | null;
    readonly opening: Opening | null;
    readonly ending: Ending | null;
};

export const onChainQuery = (address: Address | null, rpcUrl: string | null, isAwaited: boolean) =>
    queryOptions({
        queryKey: ['on-chain', address, rpcUrl] as const,
        queryFn: () => readOnChain(address as Address, rpcUrl ?? ''),
        enabled: address !== null && rpcUrl !== null,
        refetchInterval: ({ state: { data, dataUpdateCount } }) => {
            if (data?.ending) return false;
            const isOpen = data?.isOpen ?? false;
            return (isAwaited || isOpen || dataUpdateCount < MAX_LOOKS) && pauseAfter(dataUpdateCount);
        },
    });

async function readOnChain(address: Address, rpcUrl: string): Promise<OnChain> {
    const rpc = createSolanaRpc(rpcUrl);
    const found = await readExecution(rpc, address);
    const history = new History(rpc, address);
    const isOpen = found !== null && found.terms !== null;
    const [opening, ending] = await Promise.all([
        findOpening(history, found ? [Number(found.record.openedAtUnixS)] : []).catch(() => null),
        isOpen ? null : findEnding(history, found ? [Number(found.record.finishedAtUnixS)] : []).catch(() => null),
    ]);
    const { amount = null, feeBps = null } = found?.record ?? {};
    const deadline = found?.terms ? Number(found.terms.deadlineUnixS) : null;
    return {
        isOpen,
        deadline,
        amount,
        feeBps,
        disputableUntil: found && disputableUntil(found.record),
        opening,
        ending,
    };
}

/** The rules of `open_dispute`. The time is for the reader to compare: it passes while the page is open. */
function disputableUntil({
    status,
    disputeCount,
    settledBy,
    finishedAtUnixS,
    disputeWindowS,
}: ExecutionRecord): number | null {
    const isPossible =
        status === StoredExecutionStatus.Completed && disputeCount === 0 && settledBy !== StoredSettler.Caller;
    return isPossible ? Number(finishedAtUnixS) + disputeWindowS : null;
}
