// Keys of this browser whose registration was interrupted. The page continues it by itself, because the proof exists
// already.

import { type Address, createSolanaRpc } from '@solana/kit';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

import { readGrant } from '../../chain/grants';
import type { Schemas } from '../../shared/api/client';
import { UserText } from '../../shared/text/UserText';
import { Button } from '../../shared/ui/Button';
import { messageOf } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { type PendingKey, onPendingChanged, pendingKeys, removePending } from './pending';
import { register } from './query';
import { words } from './words';

const t = words.pending;

/** A transaction that is not there by then never comes: a blockhash lasts about a minute and a half. */
const FORGOTTEN_MS = 150_000;
const LOOK_MS = 2_000;

type Network = Schemas['NetworkResponse'];

export function Unregistered({ wallet, network }: { wallet: Address; network: Network }) {
    const all = useSyncExternalStore(onPendingChanged, pendingKeys);
    const own = all.filter((key) => key.wallet === wallet && key.genesisHash === network.genesis_hash);
    return own.map((key) => <Interrupted key={key.sessionKey} pending={key} network={network} />);
}

/** `registered`; `granting`: the transaction may still come; `never`: it did not come. */
type Outcome = 'registered' | 'granting' | 'never';

function Interrupted({ pending, network }: { pending: PendingKey; network: Network }) {
    const queries = useQueryClient();
    const { sessionKey, wallet, name, createdAt } = pending;
    const { data, error, refetch, isFetching } = useQuery({
        queryKey: ['pending-key', sessionKey] as const,
        queryFn: async (): Promise<Outcome> => {
            const grant = await readGrant(createSolanaRpc(network.rpc_url ?? ''), wallet as Address, sessionKey);
            if (grant === null) return Date.now() - createdAt < FORGOTTEN_MS ? 'granting' : 'never';
            await register(pending);
            removePending(sessionKey);
            void queries.invalidateQueries({ queryKey: ['keys', wallet] });
            return 'registered';
        },
        enabled: network.rpc_url !== null,
        retry: false,
        refetchInterval: ({ state }) => (state.data === 'granting' && state.error === null ? LOOK_MS : false),
    });
    if (data === 'never') {
        return (
            <Notice kind="warn" title={t.never}>
                <p>
                    <UserText text={name} /> {t.neverHint}
                </p>
                <div>
                    <Button onPress={() => removePending(sessionKey)}>{t.understood}</Button>
                </div>
            </Notice>
        );
    }
    return (
        <div role="status">
            <Notice kind="warn" title={t.notRegistered}>
                <p>
                    {data === 'granting' ? t.granting : error ? t.failed : t.registering} <UserText text={name} />
                    {data !== 'granting' && error ? `: ${messageOf(error)}` : ' …'}
                </p>
                {error && (
                    <div className="row">
                        <Button onPress={() => !isFetching && void refetch()}>{isFetching ? t.trying : t.retry}</Button>
                        <Button look="danger" onPress={() => removePending(sessionKey)}>
                            {t.leave}
                        </Button>
                    </div>
                )}
            </Notice>
        </div>
    );
}
