// What a wallet may change in a transaction that it signs. Wallets add instructions of two programs: ComputeBudget,
// which sets the fee, and Lighthouse, whose assertions let a transaction fail that does something else than the wallet
// showed. Everything else that differs is refused, in words.

import { type Address, AccountRole } from '@solana/kit';

import { solText } from '../shared/money';
import { sameBytes } from './accounts';
import { MAX_PRIORITY_FEE, priorityFee } from './fee';
import { COMPUTE_BUDGET_PROGRAM, type Message, MessageError, type Part, chargeOf, isBudget } from './message';
import { ED25519_PROGRAM_ADDRESS } from './proof';
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM } from './token';

export const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95' as Address;
const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address;

const NAMES: Readonly<Record<string, string>> = {
    [SYSTEM_PROGRAM]: 'the System program',
    [TOKEN_PROGRAM]: 'the Token program',
    TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'the Token-2022 program',
    [ASSOCIATED_TOKEN_PROGRAM]: 'the Associated Token program',
    [ED25519_PROGRAM_ADDRESS]: 'the Ed25519 program',
    [COMPUTE_BUDGET_PROGRAM]: 'the ComputeBudget program',
    [LIGHTHOUSE_PROGRAM]: 'the Lighthouse program',
    Stake11111111111111111111111111111111111111: 'the Stake program',
    MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: 'the Memo program',
};

/** Throws a `MessageError` unless the wallet left what was to be signed as it was. */
export function checkReturned(given: Message, returned: Message): void {
    if (returned.feePayer !== given.feePayer) {
        throw new MessageError(`is paid and signed by another account, ${returned.feePayer}`);
    }
    checkInstructions(
        given.parts.filter((part) => !isBudget(part)),
        returned.parts,
    );
    checkRoles(given, returned);
    const { units, price } = chargeOf(returned);
    const fee = priorityFee(units, price);
    if (fee > MAX_PRIORITY_FEE) {
        throw new MessageError(
            `has a priority fee of ${solText(fee)} SOL; at most ${solText(MAX_PRIORITY_FEE)} SOL is accepted`,
        );
    }
}

/** The dashboard's instructions must come in their order; between them a wallet may add some. */
function checkInstructions(ours: readonly Part[], returned: readonly Part[]): void {
    let next = 0;
    for (const part of returned) {
        const expected = ours[next];
        if (expected !== undefined && isSame(part, expected)) {
            next += 1;
            continue;
        }
        if (!isBudget(part) && part.program !== LIGHTHOUSE_PROGRAM)
            throw new MessageError(difference(part, ours, next, returned));
        // The settlement looks for the proof directly before itself.
        if (
            ours[next - 1]?.program === ED25519_PROGRAM_ADDRESS &&
            returned.some((other) => expected !== undefined && isSame(other, expected))
        ) {
            throw new MessageError(
                `has an instruction of ${nameOf(part.program)} between the proof and the settlement that needs it directly before`,
            );
        }
    }
    const missing = ours[next];
    if (missing !== undefined) throw new MessageError(`lacks an instruction of ${nameOf(missing.program)}`);
}

/** Why an instruction is at a place where ours is another one. */
function difference(part: Part, ours: readonly Part[], next: number, returned: readonly Part[]): string {
    const expected = ours[next];
    if (ours.slice(next).some((later) => isSame(part, later))) {
        const isLater = expected !== undefined && returned.some((other) => isSame(other, expected));
        return isLater
            ? 'has its instructions in another order'
            : `lacks an instruction of ${nameOf(expected?.program ?? part.program)}`;
    }
    const isChanged = expected?.program === part.program && !returned.some((other) => isSame(other, expected));
    return isChanged
        ? `has another instruction of ${nameOf(part.program)} than this page asked for`
        : `has an added instruction: ${described(part)}`;
}

function described({ program, data, accounts }: Part): string {
    if (program === SYSTEM_PROGRAM && data.length >= 4) {
        const view = new DataView(Uint8Array.from(data).buffer);
        const kind = view.getUint32(0, true);
        if (kind === 2 && data.length === 12)
            return `a transfer of ${solText(view.getBigUint64(4, true))} SOL to ${accounts[1] ?? 'nobody'}`;
        if (kind === 4) return 'a durable nonce, with which the transaction could be sent at any later time';
    }
    return `one of ${nameOf(program)}`;
}

/** No account can do more than before, and an added one is only read. */
function checkRoles(given: Message, returned: Message): void {
    const ours = new Set([
        given.feePayer,
        ...given.parts.filter((part) => !isBudget(part)).flatMap(({ program, accounts }) => [program, ...accounts]),
    ]);
    for (const [address, role] of returned.roles) {
        const before = ours.has(address) ? given.roles.get(address) : AccountRole.READONLY;
        if (role === before) continue;
        const isSigner = role === AccountRole.READONLY_SIGNER || role === AccountRole.WRITABLE_SIGNER;
        if (isSigner && before !== AccountRole.READONLY_SIGNER && before !== AccountRole.WRITABLE_SIGNER) {
            throw new MessageError(`needs a signature of ${address}, too`);
        }
        throw new MessageError(
            `gives the account ${address} another role: it ${isWritable(role) ? 'can be changed' : 'cannot be changed'}`,
        );
    }
}

const isWritable = (role: AccountRole): boolean =>
    role === AccountRole.WRITABLE || role === AccountRole.WRITABLE_SIGNER;

const isSame = (one: Part, other: Part): boolean =>
    one.program === other.program &&
    one.accounts.length === other.accounts.length &&
    one.accounts.every((address, index) => address === other.accounts[index]) &&
    sameBytes(one.data, other.data);

const nameOf = (program: Address): string => NAMES[program] ?? `the program ${program}`;
