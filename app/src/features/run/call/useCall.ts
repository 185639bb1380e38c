// A call of this browser, for components: its stored form, how far it is, and how to go on.

import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';

import { networkQuery } from '../../../shared/api/queries';
import { currentSession } from '../../../shared/wallet/session';
import { loadSending, useSend } from '../../../shared/wallet/useSend';
import { sessionQuery, useSession } from '../../../shared/wallet/useSession';
import { useWallet } from '../../../shared/wallet/useWallet';
import { type Progress, runnerOf } from './runner';
import { type StoredCall, onCallsChanged, storedCall, storedCalls } from './stored';

export const useStoredCalls = (): readonly StoredCall[] => useSyncExternalStore(onCallsChanged, storedCalls);

export type UseCall = {
    readonly call: StoredCall | null;
    readonly progress: Progress;
    /** `mayPay`: the user has pressed a button that says so. */
    readonly run: (executionId: string, mayPay: boolean, isNew?: boolean) => void;
};

export function useCall(executionId: string | null): UseCall {
    useStoredCalls();
    const runner = useMemo(() => runnerOf(executionId ?? ''), [executionId]);
    const subscribe = useCallback(
        (listener: () => void) => {
            runner.listeners.add(listener);
            return () => void runner.listeners.delete(listener);
        },
        [runner],
    );
    const progress = useSyncExternalStore(subscribe, () => runner.progress);
    return { call: executionId === null ? null : storedCall(executionId), progress, run: useRun() };
}

/** Loads what a payment needs while the request is written, so that nobody waits for it after the press. */
export function useReadyToRun(): void {
    const router = useRouter();
    useEffect(() => {
        void loadSending().catch(() => undefined);
        void router.preloadRoute({ to: '/executions/$executionId', params: { executionId: 'any' } });
    }, [router]);
}

function useRun(): UseCall['run'] {
    const { connection } = useWallet();
    const { signIn } = useSession();
    const send = useSend();
    const queries = useQueryClient();
    return (executionId, mayPay, isNew = false) => {
        if (connection === null) return;
        const account = connection.account.address;
        const ensureSession = async (): Promise<void> => {
            const session = await currentSession();
            if (session?.wallet === account) queries.setQueryData(sessionQuery.queryKey, session);
            else await signIn.mutateAsync();
        };
        void queries
            .query({ ...networkQuery, staleTime: 'static' })
            .then((network) =>
                runnerOf(executionId).run(executionId, { network, account, send, ensureSession, isNew }, mayPay),
            )
            // What it did is on the chain now, whatever came of it.
            .finally(() => void queries.invalidateQueries({ queryKey: ['on-chain'] }));
    };
}
