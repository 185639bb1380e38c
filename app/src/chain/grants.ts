// The spending grants of a wallet: what each of its API keys may spend, as the chain has it.

import { type Address, type Base58EncodedBytes, type Rpc, type SolanaRpcApi, getBase64Encoder } from '@solana/kit';

import {
    SPENDING_GRANT_DISCRIMINATOR,
    type SpendingGrant,
    getSpendingGrantDecoder,
} from '../generated/accounts/spendingGrant';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../generated/programs';
import { decodeOwned, readAccounts, startsWith } from './accounts';
import { findSpendingGrantAddress } from './addresses';

const WALLET_AT = 8n;
export const GRANT_BYTES = getSpendingGrantDecoder().fixedSize;

/** All grants that the wallet ever made; they are never closed. */
export async function readGrants(rpc: Rpc<SolanaRpcApi>, wallet: Address): Promise<SpendingGrant[]> {
    const filters = [
        { dataSize: BigInt(GRANT_BYTES) },
        { memcmp: { offset: WALLET_AT, bytes: wallet as string as Base58EncodedBytes, encoding: 'base58' } },
    ] as const;
    const config = { commitment: 'confirmed', encoding: 'base64', filters } as const;
    const found = await rpc.getProgramAccounts(AGENT_MARKETPLACE_PROGRAM_ADDRESS, config).send();
    return found
        .map(({ account }) => getBase64Encoder().encode(account.data[0]))
        .filter((data) => startsWith(data, SPENDING_GRANT_DISCRIMINATOR))
        .map((data) => getSpendingGrantDecoder().decode(data));
}

/** `null`: the wallet has granted nothing to that session key. */
export async function readGrant(
    rpc: Rpc<SolanaRpcApi>,
    wallet: Address,
    sessionKey: Address,
): Promise<SpendingGrant | null> {
    const [account] = await readAccounts(rpc, [await findSpendingGrantAddress(wallet, sessionKey)]);
    return account ? decodeOwned(account, getSpendingGrantDecoder(), SPENDING_GRANT_DISCRIMINATOR) : null;
}

/** The agents that the grant is limited to; none means every agent. */
export const allowedAgents = ({ allowedAgents: places, allowedAgentsLen }: SpendingGrant): Address[] =>
    places.slice(0, allowedAgentsLen);
