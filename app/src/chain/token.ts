// What the dashboard needs of the token programs: the address of a wallet's USDC account, and the two instructions that
// fund a wallet of the local network.

import { type Address, type Instruction, AccountRole, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit';

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as Address;
export const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL' as Address;
const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address;

const CREATE_IDEMPOTENT = 1;
const MINT_TO = 7;

/** The associated token account of a wallet. */
export async function findTokenAccount(owner: Address, mint: Address): Promise<Address> {
    const encoder = getAddressEncoder();
    const seeds = [owner, TOKEN_PROGRAM, mint].map((address) => encoder.encode(address));
    const [address] = await getProgramDerivedAddress({ programAddress: ASSOCIATED_TOKEN_PROGRAM, seeds });
    return address;
}

/** Creates the account unless it exists. */
export const createTokenAccount = (payer: Address, account: Address, owner: Address, mint: Address): Instruction => ({
    programAddress: ASSOCIATED_TOKEN_PROGRAM,
    accounts: [
        { address: payer, role: AccountRole.WRITABLE_SIGNER },
        { address: account, role: AccountRole.WRITABLE },
        { address: owner, role: AccountRole.READONLY },
        { address: mint, role: AccountRole.READONLY },
        { address: SYSTEM_PROGRAM, role: AccountRole.READONLY },
        { address: TOKEN_PROGRAM, role: AccountRole.READONLY },
    ],
    data: new Uint8Array([CREATE_IDEMPOTENT]),
});

/** Makes new tokens; only the mint's authority can. */
export function mintTo(mint: Address, account: Address, authority: Address, amount: bigint): Instruction {
    const data = new Uint8Array(9);
    data[0] = MINT_TO;
    new DataView(data.buffer).setBigUint64(1, amount, true);
    const accounts = [
        { address: mint, role: AccountRole.WRITABLE },
        { address: account, role: AccountRole.WRITABLE },
        { address: authority, role: AccountRole.READONLY_SIGNER },
    ];
    return { programAddress: TOKEN_PROGRAM, accounts, data };
}
