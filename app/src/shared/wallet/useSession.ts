// The session of the connected wallet, for components: whether there is one, and how to open it.

import { type UseMutationResult, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import { networkQuery } from '../api/queries';
import { type Session, currentSession, signIn } from './session';
import { useWallet } from './useWallet';

export const sessionQuery = queryOptions({
    queryKey: ['session'] as const,
    queryFn: currentSession,
    staleTime: 60_000,
});

export type UseSession = {
    /** The session, if it is the connected account's. `undefined` while it is not known yet. */
    readonly session: Session | null | undefined;
    /** Asks the wallet to sign in. Needs a connection. */
    readonly signIn: UseMutationResult<Session, Error, void>;
};

export function useSession(): UseSession {
    const { connection } = useWallet();
    const queries = useQueryClient();
    const { data } = useQuery(sessionQuery);
    const opening = useMutation({
        mutationFn: async () => {
            if (connection === null) throw new Error('Connect a wallet first.');
            return signIn(connection, await queries.ensureQueryData(networkQuery));
        },
        onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
    });
    const isOwn = data?.wallet === connection?.account.address;
    return { session: data === undefined ? undefined : isOwn ? data : null, signIn: opening };
}
