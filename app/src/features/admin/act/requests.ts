// Builds what an action of the admin sends. Reads the chain right before, so that nothing is built from an old page.

import {
    type Address,
    type Instruction,
    type Rpc,
    type SolanaRpcApi,
    type TransactionSigner,
    createNoopSigner,
    createSolanaRpc,
} from '@solana/kit';
import { useQueryClient } from '@tanstack/react-query';

import { type Market, readMarket } from '../../../chain/market';
import { networkQuery } from '../../../shared/api/queries';
import { mayStop } from '../../../shared/roles';
import { words } from '../words';

export type Chain = { readonly rpc: Rpc<SolanaRpcApi>; readonly market: Market };

/** Makes the instruction, or throws an error whose message is for the user. */
export type Make = (signer: TransactionSigner, chain: Chain) => Promise<Instruction>;

/** For `useTransaction`: builds what `make` makes of the chain as it is now. */
export function useRequest(): (make: Make) => (account: Address) => Promise<Instruction[]> {
    const queries = useQueryClient();
    return (make) => async (account) => {
        const { rpc_url: rpcUrl } = await queries.query({ ...networkQuery, staleTime: 'static' });
        if (rpcUrl === null) throw new Error(words.requests.noNode);
        const rpc: Rpc<SolanaRpcApi> = createSolanaRpc(rpcUrl);
        const market = await readMarket(rpc).catch(() => {
            throw new Error(words.requests.noChain);
        });
        return [await make(createNoopSigner(account), { rpc, market })];
    };
}

/** Throws unless the account is the admin now. */
export function checkAdmin({ market }: Chain, signer: TransactionSigner): void {
    if (market.config.admin !== signer.address) throw new Error(words.requests.adminOnly(market.config.admin));
}

/** Wraps `make` so that it throws unless the account may stop something, or with `resumes` resume it. */
export const asStopper =
    (resumes: boolean, make: Make): Make =>
    (signer, chain) => {
        if (resumes) checkAdmin(chain, signer);
        else if (!mayStop(signer.address, chain.market.config)) throw new Error(words.requests.adminOrGuardian);
        return make(signer, chain);
    };

/** Wraps `make` so that it throws unless the account is the admin. */
export const asAdmin =
    (make: Make): Make =>
    (signer, chain) => {
        checkAdmin(chain, signer);
        return make(signer, chain);
    };
