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
import { words } from './words';

const w = words.returned;

export const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95' as Address;
const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address;

const NAMES: Readonly<Record<string, string>> = {
    [SYSTEM_PROGRAM]: 'System',
    [TOKEN_PROGRAM]: 'Token',
    TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'Token-2022',
    [ASSOCIATED_TOKEN_PROGRAM]: 'Associated Token',
    [ED25519_PROGRAM_ADDRESS]: 'Ed25519',
    [COMPUTE_BUDGET_PROGRAM]: 'ComputeBudget',
    [LIGHTHOUSE_PROGRAM]: 'Lighthouse',
    Stake11111111111111111111111111111111111111: 'Stake',
    MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: 'Memo',
};

/** Throws a `MessageError` unless the wallet left what was to be signed as it was. */
export function checkReturned(given: Message, returned: Message): void {
    if (returned.feePayer !== given.feePayer) {
        throw new MessageError(w.otherPayer(returned.feePayer));
    }
    checkInstructions(
        given.parts.filter((part) => !isBudget(part)),
        returned.parts,
    );
    checkRoles(given, returned);
    const { units, price } = chargeOf(returned);
    const fee = priorityFee(units, price);
    if (fee > MAX_PRIORITY_FEE) {
        throw new MessageError(w.fee(solText(fee), solText(MAX_PRIORITY_FEE)));
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
            throw new MessageError(w.between(nameOf(part.program)));
        }
    }
    const missing = ours[next];
    if (missing !== undefined) throw new MessageError(w.lacks(nameOf(missing.program)));
}

/** Why an instruction is at a place where ours is another one. */
function difference(part: Part, ours: readonly Part[], next: number, returned: readonly Part[]): string {
    const expected = ours[next];
    if (ours.slice(next).some((later) => isSame(part, later))) {
        const isLater = expected !== undefined && returned.some((other) => isSame(other, expected));
        return isLater ? w.order : w.lacks(nameOf(expected?.program ?? part.program));
    }
    const isChanged = expected?.program === part.program && !returned.some((other) => isSame(other, expected));
    return isChanged ? w.other(nameOf(part.program)) : w.added(described(part));
}

function described({ program, data, accounts }: Part): string {
    if (program === SYSTEM_PROGRAM && data.length >= 4) {
        const view = new DataView(Uint8Array.from(data).buffer);
        const kind = view.getUint32(0, true);
        if (kind === 2 && data.length === 12)
            return w.transfer(solText(view.getBigUint64(4, true)), accounts[1] ?? w.nobody);
        if (kind === 4) return w.nonce;
    }
    return w.oneOf(nameOf(program));
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
            throw new MessageError(w.signer(address));
        }
        throw new MessageError(w.role(address, isWritable(role)));
    }
}

const isWritable = (role: AccountRole): boolean =>
    role === AccountRole.WRITABLE || role === AccountRole.WRITABLE_SIGNER;

const isSame = (one: Part, other: Part): boolean =>
    one.program === other.program &&
    one.accounts.length === other.accounts.length &&
    one.accounts.every((address, index) => address === other.accounts[index]) &&
    sameBytes(one.data, other.data);

function nameOf(program: Address): string {
    const name = NAMES[program];
    return name === undefined ? w.unknownProgram(program) : w.program(name);
}
