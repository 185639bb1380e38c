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
            <Notice kind="warn" title="A key was never granted">
                <p>
                    The chain has no grant for <UserText text={name} />, and the signature for it has expired. The saved
                    key is worth nothing; make another one.
                </p>
                <div>
                    <Button onPress={() => removePending(sessionKey)}>All right</Button>
                </div>
            </Notice>
        );
    }
    return (
        <div role="status">
            <Notice kind="warn" title="A key is not registered yet">
                <p>
                    {data === 'granting' ? (
                        <>
                            The chain does not show the grant for <UserText text={name} /> yet. This page looks again.
                        </>
                    ) : error ? (
                        <>
                            The service did not take the registration of <UserText text={name} />: {messageOf(error)}
                        </>
                    ) : (
                        <>
                            Registering <UserText text={name} /> …
                        </>
                    )}
                </p>
                {error && (
                    <div className="row">
                        <Button onPress={() => !isFetching && void refetch()}>
                            {isFetching ? 'Trying …' : 'Try again'}
                        </Button>
                        <Button look="danger" onPress={() => removePending(sessionKey)}>
                            Leave it unregistered
                        </Button>
                    </div>
                )}
            </Notice>
        </div>
    );
}
