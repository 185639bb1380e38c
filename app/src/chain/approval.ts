// The approval of a token account: which other address may move how much of it. A token account has room for one.

import { type Address, type Instruction, AccountRole, getAddressDecoder } from '@solana/kit';

import { USDC_DECIMALS } from '../shared/money';
import { type RawAccount, tokenAmount } from './accounts';
import { TOKEN_PROGRAM } from './token';

const REVOKE = 5;
const APPROVE_CHECKED = 13;
/** Offsets in a token account: whether it has a delegate, which one, and how much that one may move. */
const HAS_DELEGATE_AT = 72;
const DELEGATE_AT = 76;
const DELEGATED_AT = 121;
const TOKEN_ACCOUNT_BYTES = 165;

export type TokenHolding = {
    readonly exists: boolean;
    readonly amount: bigint;
    readonly delegate: { readonly address: Address; readonly amount: bigint } | null;
};

/** What a token account holds, and what somebody else may take of it. */
export function readHolding(account: RawAccount): TokenHolding {
    if (account?.owner !== TOKEN_PROGRAM || account.data.length !== TOKEN_ACCOUNT_BYTES) {
        return { exists: false, amount: 0n, delegate: null };
    }
    const view = new DataView(new Uint8Array(account.data).buffer);
    const hasDelegate = view.getUint32(HAS_DELEGATE_AT, true) === 1;
    const delegate = {
        address: getAddressDecoder().decode(account.data, DELEGATE_AT),
        amount: view.getBigUint64(DELEGATED_AT, true),
    };
    return { exists: true, amount: tokenAmount(account), delegate: hasDelegate ? delegate : null };
}

/** Lets `delegate` move up to `amount`. Replaces the approval that the account had, for whatever address. */
export function approve(
    account: Address,
    mint: Address,
    delegate: Address,
    owner: Address,
    amount: bigint,
): Instruction {
    const data = new Uint8Array(10);
    data[0] = APPROVE_CHECKED;
    new DataView(data.buffer).setBigUint64(1, amount, true);
    data[9] = USDC_DECIMALS;
    const accounts = [
        { address: account, role: AccountRole.WRITABLE },
        { address: mint, role: AccountRole.READONLY },
        { address: delegate, role: AccountRole.READONLY },
        { address: owner, role: AccountRole.READONLY_SIGNER },
    ];
    return { programAddress: TOKEN_PROGRAM, accounts, data };
}

/** Takes every approval back: only the owner can move tokens of the account then. */
export const revokeApproval = (account: Address, owner: Address): Instruction => ({
    programAddress: TOKEN_PROGRAM,
    accounts: [
        { address: account, role: AccountRole.WRITABLE },
        { address: owner, role: AccountRole.READONLY_SIGNER },
    ],
    data: new Uint8Array([REVOKE]),
});
