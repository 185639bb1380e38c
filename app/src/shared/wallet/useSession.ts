// The session of the connected wallet, for components: whether there is one, and how to open it.

import {
    type QueryClient,
    type UseMutationResult,
    queryOptions,
    useMutation,
    useQuery,
    useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useRef } from 'react';

import { whenSessionIsRefused } from '../api/client';
import { networkQuery } from '../api/queries';
import { type Session, currentSession, rememberSession, signIn, signOut } from './session';
import { onTabNews } from './tabs';
import { useWallet, walletStore } from './useWallet';
import { words } from '../words';

export const sessionQuery = queryOptions({
    queryKey: ['session'] as const,
    queryFn: currentSession,
    staleTime: 60_000,
    // A tab that slept may have missed what others did.
    refetchOnWindowFocus: 'always',
});

export type UseSession = {
    /** The session, if it is the connected account's. `undefined` while it is not known yet. */
    readonly session: Session | null | undefined;
    /** The wallet that is signed in instead. */
    readonly other: string | null;
    /** Asks the wallet to sign in. Needs a connection. */
    readonly signIn: UseMutationResult<Session, Error, void>;
};

export function useSession(): UseSession {
    const { connection } = useWallet();
    const queries = useQueryClient();
    const { data } = useQuery(sessionQuery);
    const opening = useMutation({
        mutationFn: async () => {
            if (connection === null) throw new Error(words.wallet.connect);
            return signIn(connection, await queries.query({ ...networkQuery, staleTime: 'static' }));
        },
        onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
    });
    const isOwn = data?.wallet === connection?.account.address;
    return {
        session: data === undefined ? undefined : isOwn ? data : null,
        other: isOwn ? null : (data?.wallet ?? null),
        signIn: opening,
    };
}

/** Ends the session of the connected account, and disconnects it: in this tab and in the others. */
export async function leave(queries: QueryClient): Promise<void> {
    const { connection } = walletStore().get();
    const session = queries.getQueryData(sessionQuery.queryKey);
    if (connection !== null && session?.wallet === connection.account.address) {
        // A session that the service does not end now ends by itself; the wallet is disconnected anyway.
        await signOut(session.wallet).catch(() => undefined);
        queries.setQueryData(sessionQuery.queryKey, null);
    }
    await walletStore().disconnect();
}

/**
 * Keeps the page's session equal to the service's, and removes what belongs to a wallet that has gone. Once, for the
 * whole page.
 */
export function useSessionKeeper(): void {
    const queries = useQueryClient();
    const { connection } = useWallet();
    const account = connection?.account.address ?? null;
    const { data: session } = useQuery(sessionQuery);
    const signedIn = session === undefined ? undefined : (session?.wallet ?? null);
    useEffect(() => {
        const renew = async (): Promise<string | null> => {
            await queries.invalidateQueries({ queryKey: sessionQuery.queryKey, refetchType: 'none' });
            return (await queries.query(sessionQuery))?.wallet ?? null;
        };
        whenSessionIsRefused(renew);
        return onTabNews('session', (until) => {
            rememberSession(until);
            void renew().catch(() => undefined);
        });
    }, [queries]);
    const before = useRef({ account, signedIn });
    useEffect(() => {
        const { account: oldAccount, signedIn: oldSignedIn } = before.current;
        before.current = { account, signedIn };
        const isOther = oldAccount !== null && oldAccount !== account;
        // Components drop what they showed of the old wallet in this same turn; afterwards nobody uses what is left.
        if (isOther) setTimeout(() => queries.removeQueries({ type: 'inactive' }));
        // Requests that were refused without the session are made again.
        if (oldSignedIn !== undefined && typeof signedIn === 'string' && signedIn !== oldSignedIn) {
            void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
        }
    }, [account, signedIn, queries]);
}
