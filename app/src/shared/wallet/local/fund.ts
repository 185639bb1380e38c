// One click of money for a wallet of the local network: SOL by airdrop, USDC by the demo's admin, who is the authority
// of that mint. An ordinary transaction, so that the local network keeps it like every other.

import {
    type Address,
    createSolanaRpc,
    getTransactionDecoder,
    getTransactionEncoder,
    lamports,
    partiallySignTransaction,
} from '@solana/kit';

import { signAndSend } from '../../../chain/send';
import { createTokenAccount, findTokenAccount, mintTo } from '../../../chain/token';
import { type Schemas } from '../../api/client';
import { demoKeys } from './keys';
import { words } from '../../words';

const SOL = lamports(10_000_000_000n);
const USDC = 1_000_000_000n;

/** Adds 10 SOL and 1 000 USDC. */
export async function fund(address: string, network: Schemas['NetworkResponse']): Promise<void> {
    const { rpc_url: rpcUrl, roles, usdc_mint } = network;
    const admin = (await demoKeys()).find((key) => key.address === roles.admin);
    if (rpcUrl === null || admin === undefined) throw new Error(words.local.noMoney);
    const [wallet, mint, authority] = [address as Address, usdc_mint as Address, admin.address as Address];
    await createSolanaRpc(rpcUrl).requestAirdrop(wallet, SOL, { commitment: 'confirmed' }).send();
    const account = await findTokenAccount(wallet, mint);
    await signAndSend({
        rpcUrl,
        feePayer: authority,
        hasPriority: false,
        instructions: [createTokenAccount(authority, account, wallet, mint), mintTo(mint, account, authority, USDC)],
        sign: async (bytes) => {
            const signed = await partiallySignTransaction([admin.keys], getTransactionDecoder().decode(bytes));
            return new Uint8Array(getTransactionEncoder().encode(signed));
        },
    });
}
