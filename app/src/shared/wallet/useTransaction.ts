// One transaction of the connected account, from the press of a button to its confirmation, for components.
// `TransactionState` shows it.

import type { Address, Instruction, Signature } from '@solana/kit';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';

import type { SendErrorKind, SendStep } from '../../chain/send';
import { networkQuery } from '../api/queries';
import { waitForIndex } from './indexed';
import { isSendError } from './sendError';
import { useSend } from './useSend';
import { useWallet } from './useWallet';
import { words } from '../words';

export type TransactionStatus =
    | { readonly kind: 'idle' }
    | {
          readonly kind: 'busy';
          readonly step: SendStep | 'preparing' | 'indexing';
          /** The network fee in lamports, once it is known. */ readonly fee?: bigint | undefined;
      }
    | { readonly kind: 'done'; readonly signature: Signature }
    | {
          readonly kind: 'failed';
          readonly cause: SendErrorKind | null;
          readonly message: string;
          readonly signature: Signature | null;
      };

export type TransactionRequest = {
    /** The instructions, built from the chain as it is now: it may have changed since the page was shown. */
    readonly build: (account: Address) => Promise<readonly Instruction[]> | readonly Instruction[];
    /** What to do once it is confirmed and the index shows it. Its failure is shown. */
    readonly after?: () => Promise<void> | void;
};

export type UseTransaction = {
    readonly status: TransactionStatus;
    readonly isBusy: boolean;
    /** Nothing happens while a transaction of this component is under way. Never rejects. */
    readonly send: (request: TransactionRequest) => Promise<void>;
    readonly reset: () => void;
};

export function useTransaction(): UseTransaction {
    const { connection } = useWallet();
    const sendInstructions = useSend();
    const queries = useQueryClient();
    const isUnderWay = useRef(false);
    const [status, setStatus] = useState<TransactionStatus>({ kind: 'idle' });

    const send = async ({ build, after }: TransactionRequest): Promise<void> => {
        if (isUnderWay.current) return;
        isUnderWay.current = true;
        setStatus({ kind: 'busy', step: 'preparing' });
        try {
            if (connection === null) throw new Error(words.wallet.connect);
            const instructions = await build(connection.account.address as Address);
            const signature = await sendInstructions(instructions, (step, _, fee) =>
                setStatus({ kind: 'busy', step, fee }),
            );
            setStatus({ kind: 'busy', step: 'indexing' });
            const { rpc_url: rpcUrl } = await queries.query({ ...networkQuery, staleTime: 'static' });
            if (rpcUrl !== null) await waitForIndex(rpcUrl, signature);
            await after?.();
            setStatus({ kind: 'done', signature });
        } catch (error) {
            setStatus(failed(error));
        } finally {
            isUnderWay.current = false;
            // Whatever the outcome, what the pages show of the chain and of the index may be old.
            void queries.invalidateQueries();
        }
    };
    return { status, isBusy: status.kind === 'busy', send, reset: () => setStatus({ kind: 'idle' }) };
}

function failed(error: unknown): TransactionStatus {
    const message = error instanceof Error ? error.message : words.wallet.failed;
    const { kind: cause, signature } = isSendError(error) ? error : { kind: null, signature: null };
    return { kind: 'failed', cause, message, signature };
}
