// What the chain itself says, asked of the node without any code of the dashboard.



import type { Network } from './network';
import { ownNetwork } from './ownNetwork';

type Parsed = { account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } } };

export async function rpc<T>(method: string, params: unknown[], url = ownNetwork().rpc_url): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return ((await answer.json()) as { result: T }).result;
}

/** USDC of a wallet, in base units. */
export const usdcOf = (owner: string): Promise<bigint> => usdcOn(ownNetwork(), owner);

/** The same on another network than the one that all files share. */
export async function usdcOn({ usdc_mint: mint, rpc_url: url }: Network, owner: string): Promise<bigint> {
    const config = { encoding: 'jsonParsed', commitment: 'confirmed' };
    const { value } = await rpc<{ value: Parsed[] }>('getTokenAccountsByOwner', [owner, { mint }, config], url);
    return value.reduce((sum, { account }) => sum + BigInt(account.data.parsed.info.tokenAmount.amount), 0n);
}

/** Successful transactions about an account. */
export async function transactionsOf(address: string, url?: string): Promise<string[]> {
    const found = await rpc<{ signature: string; err: unknown }[]>('getSignaturesForAddress', [address, { commitment: 'confirmed' }], url);
    return found.filter(({ err }) => err === null).map(({ signature }) => signature);
}

/** Where the second of the opening is in a record's account. */
const OPENED_AT = 168;

/** The second in which a record was opened; 0 if there is no such account. */
export async function openedAt(record: string, url?: string): Promise<number> {
    const config = { encoding: 'base64', commitment: 'confirmed' };
    const { value } = await rpc<{ value: { data: [string] } | null }>('getAccountInfo', [record, config], url);
    const data = Buffer.from(value?.data[0] ?? '', 'base64');
    return data.length < OPENED_AT + 8 ? 0 : Number(data.readBigInt64LE(OPENED_AT));
}
