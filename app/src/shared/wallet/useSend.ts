// Sends instructions with the connected account: simulate, sign, confirm. The errors are `SendError`s of
// `src/chain/send.ts`.

import type { Address, Instruction, Signature } from '@solana/kit';
import { useQueryClient } from '@tanstack/react-query';

import type { OnStep } from '../../chain/send';
import { networkQuery } from '../api/queries';
import { part } from '../part';
import { balancesKey } from './balances';
import { signTransaction, versionFor, whyNot } from './standard';
import { useWallet, walletStore } from './useWallet';
import { words } from '../words';

export type Send = (instructions: readonly Instruction[], onStep?: OnStep) => Promise<Signature>;

/** The code that sends. A page on which somebody is about to pay loads it before. */
export const loadSending = () => part(() => import('../../chain/send'));

/** The account pays the fee. Resolves once the transaction is confirmed. */
export function useSend(): Send {
    const { connection } = useWallet();
    const queries = useQueryClient();
    return async (instructions, onStep) => {
        if (connection === null) throw new Error(words.wallet.connect);
        const { wallet, account } = connection;
        const { rpc_url: rpcUrl, chain } = await queries.query({ ...networkQuery, staleTime: 'static' });
        if (rpcUrl === null) throw new Error(words.wallet.noNode);
        if (!account.chains.includes(chain as `${string}:${string}`)) {
            throw new Error(words.wallet.otherNetwork(chain));
        }
        const reason = whyNot(wallet, account, 'transactions');
        if (reason !== null) throw new Error(reason);
        const { signAndSend, socketOf } = await loadSending();
        try {
            return await signAndSend({
                rpcUrl,
                feePayer: account.address as Address,
                instructions,
                version: versionFor(wallet),
                // Nobody waits on the local network: it confirms a transaction before it answers.
                hasPriority: chain !== 'solana:localnet',
                wsUrl: chain === 'solana:localnet' ? null : socketOf(rpcUrl),
                sign: async (bytes) => {
                    if (walletStore().get().connection?.account.address !== account.address) {
                        throw new Error(words.wallet.otherAccount);
                    }
                    return signTransaction(wallet, account, bytes, chain as `solana:${string}`);
                },
                ...(onStep && { onStep }),
            });
        } finally {
            void queries.invalidateQueries({ queryKey: balancesKey(account.address) });
        }
    };
}
