// A compiled message as instructions with addresses and roles, so that two messages can be compared whatever the order
// of their accounts is; and what its instructions say about fees.

import { type Address, type ReadonlyUint8Array, AccountRole, getCompiledTransactionMessageCodec } from '@solana/kit';

import { sameBytes } from './accounts';
import { type Charged, MAX_UNITS } from './fee';
import { ED25519_PROGRAM_ADDRESS } from './proof';
import { words } from './words';

const { returned } = words;

export const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111' as Address;

export type Part = {
    readonly program: Address;
    readonly accounts: readonly Address[];
    readonly data: ReadonlyUint8Array;
};

export type Message = {
    /** The recent blockhash, or the value of a durable nonce. */
    readonly lifetime: string;
    readonly feePayer: Address;
    readonly signers: number;
    /** Of every account that the message names. */
    readonly roles: ReadonlyMap<Address, AccountRole>;
    readonly parts: readonly Part[];
};

/** Why a message is not one that the dashboard sends; the rest of a sentence about it. */
export class MessageError extends Error {}

/** Reads a legacy message, or one of version 0 that names every account itself. */
export function readMessage(bytes: ReadonlyUint8Array): Message {
    const codec = getCompiledTransactionMessageCodec();
    const compiled = codec.decode(bytes);
    if (compiled.version !== 'legacy' && compiled.version !== 0) throw new MessageError(returned.version);
    if (compiled.version === 0 && (compiled.addressTableLookups?.length ?? 0) > 0) {
        throw new MessageError(returned.lookup);
    }
    // The chain must read the same message that is checked here.
    if (!sameBytes(codec.encode(compiled), bytes)) throw new MessageError(returned.unreadable);
    const { header, staticAccounts, instructions, lifetimeToken } = compiled;
    const at = (index: number): Address => {
        const address = staticAccounts[index];
        if (address === undefined) throw new MessageError(returned.noAccount);
        return address;
    };
    const roleAt = (index: number): AccountRole => {
        const isSigner = index < header.numSignerAccounts;
        const writableEnd = isSigner
            ? header.numSignerAccounts - header.numReadonlySignerAccounts
            : staticAccounts.length - header.numReadonlyNonSignerAccounts;
        const isWritable = index < writableEnd;
        if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
        return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
    };
    const roles = new Map(staticAccounts.map((address, index) => [address, roleAt(index)]));
    if (roles.size !== staticAccounts.length) throw new MessageError(returned.twice);
    return {
        lifetime: lifetimeToken,
        feePayer: at(0),
        signers: header.numSignerAccounts,
        roles,
        parts: instructions.map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) => ({
            program: at(programAddressIndex),
            accounts: accountIndices.map(at),
            data,
        })),
    };
}

export const isBudget = ({ program }: Part): boolean => program === COMPUTE_BUDGET_PROGRAM;

/** Programs of the chain that check signatures. The first byte of an instruction says how many. */
const SIGNATURE_PROGRAMS: readonly string[] = [
    ED25519_PROGRAM_ADDRESS,
    'KeccakSecp256k11111111111111111111111111111',
    'Secp256r1SigVerify1111111111111111111111111',
];

const [UNIT_LIMIT, UNIT_PRICE] = [2, 3];
/** Bytes of each kind of instruction: heap size, unit limit, unit price, size of loaded accounts. */
const BUDGET_BYTES: Readonly<Record<number, number>> = { 1: 5, [UNIT_LIMIT]: 5, [UNIT_PRICE]: 9, 4: 5 };
/** Of each other instruction of a message that sets no limit, at most. */
const DEFAULT_UNITS = 200_000;

/** What the chain charges for a message. */
export function chargeOf({ parts, signers }: Message): Required<Charged> {
    const proofs = parts
        .filter(({ program }) => SIGNATURE_PROGRAMS.includes(program))
        .reduce((sum, { data }) => sum + (data[0] ?? 0), 0);
    const found = new Map<number, DataView>();
    for (const { data } of parts.filter(isBudget)) {
        const kind = data[0] ?? 0;
        if (data.length !== BUDGET_BYTES[kind]) throw new MessageError(returned.unknownBudget);
        if (found.has(kind)) throw new MessageError(returned.budgetTwice);
        found.set(kind, new DataView(Uint8Array.from(data).buffer));
    }
    const others = parts.filter((part) => !isBudget(part)).length;
    const units = found.get(UNIT_LIMIT)?.getUint32(1, true) ?? DEFAULT_UNITS * others;
    return {
        signers,
        proofs,
        units: Math.min(units, MAX_UNITS),
        price: found.get(UNIT_PRICE)?.getBigUint64(1, true) ?? 0n,
    };
}

export const unitLimit = (units: number) => budget(UNIT_LIMIT, (view) => view.setUint32(1, units, true));
export const unitPrice = (price: bigint) => budget(UNIT_PRICE, (view) => view.setBigUint64(1, price, true));

function budget(kind: number, write: (view: DataView) => void): { programAddress: Address; data: Uint8Array } {
    const data = new Uint8Array(BUDGET_BYTES[kind] ?? 0);
    data[0] = kind;
    write(new DataView(data.buffer));
    return { programAddress: COMPUTE_BUDGET_PROGRAM, data };
}
