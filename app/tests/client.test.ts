// The generated client against what the program's own Rust types write: tests/vectors/, made and checked by
// crates/chain/tests/client_vectors.rs.

import { readFileSync } from 'node:fs';

import {
    type Address,
    type Instruction,
    type ReadonlyUint8Array,
    createNoopSigner,
    getBase64Codec,
    isSignerRole,
    isWritableRole,
} from '@solana/kit';
import { describe, expect, it } from 'vitest';

import * as addresses from '../src/chain/addresses';
import { type SignedResult, getResultProofInstruction, signedMessage, verifyResult } from '../src/chain/proof';
import * as stored from '../src/chain/stored';
import * as client from '../src/generated';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type AccountVector = { account: string; data: string; fields: { [name: string]: Json } };
type InstructionVector = {
    instruction: string;
    inputs: { [name: string]: Json };
    program: string;
    accounts: { address: string; signer: boolean; writable: boolean }[];
    data: string;
};

const vectors = <T>(file: string): T =>
    JSON.parse(readFileSync(new URL(`../../tests/vectors/${file}`, import.meta.url), 'utf8')) as T;

const base64 = (text: string): ReadonlyUint8Array => getBase64Codec().encode(text);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A decoded value, spelled as the vectors spell it. */
function spelled(value: unknown): Json {
    if (typeof value === 'bigint') return value.toString();
    if (value instanceof Uint8Array) return hex(value);
    if (Array.isArray(value)) return value.map(spelled);
    if (value !== null && typeof value === 'object') {
        return Object.fromEntries(Object.entries(value).map(([name, inner]) => [snake(name), spelled(inner)]));
    }
    return value as Json;
}

type AccountCodec = {
    fixedSize: number;
    decode: (bytes: ReadonlyUint8Array) => { discriminator: ReadonlyUint8Array };
    encode: (value: never) => ReadonlyUint8Array;
};

const CODECS: { [account: string]: AccountCodec } = {
    AgentListed: client.getAgentListedCodec(),
    Config: client.getConfigCodec(),
    CreatorProfile: client.getCreatorProfileCodec(),
    Dispute: client.getDisputeCodec(),
    ExecutionRecord: client.getExecutionRecordCodec(),
    SpendingGrant: client.getSpendingGrantCodec(),
};

describe('accounts', () => {
    const accounts = vectors<AccountVector[]>('accounts.json');

    it('has a vector for every account of the program', () => {
        const known = Object.keys(client.AgentMarketplaceAccount).filter((name) => Number.isNaN(Number(name)));
        expect(accounts.map(({ account }) => account).sort()).toEqual(known.sort());
    });

    it.each(accounts)('decodes every field of $account', ({ account, data, fields }) => {
        const codec = CODECS[account];
        if (codec === undefined) throw new Error(`no codec for ${account}`);
        const bytes = base64(data);
        expect(codec.fixedSize).toBe(bytes.length);
        const { discriminator, ...decoded } = codec.decode(bytes);
        expect(hex(new Uint8Array(discriminator))).toBe(hex(new Uint8Array(bytes.slice(0, 8))));
        expect(spelled(decoded)).toEqual(fields);
    });

    it.each(accounts)('encodes $account to the same bytes', ({ account, data }) => {
        const codec = CODECS[account];
        if (codec === undefined) throw new Error(`no codec for ${account}`);
        const bytes = base64(data);
        expect(codec.encode(codec.decode(bytes) as never)).toEqual(bytes);
        expect(client.identifyAgentMarketplaceAccount(bytes)).toBe(
            client.AgentMarketplaceAccount[account as keyof typeof client.AgentMarketplaceAccount],
        );
    });

    it('knows the numbers that accounts store', () => {
        expect({
            agent_status: stored.StoredAgentStatus,
            execution_status: stored.StoredExecutionStatus,
            failure_reason: stored.StoredFailureReason,
            settler: stored.StoredSettler,
            dispute_outcome: stored.StoredDisputeOutcome,
        }).toEqual(vectors<Json>('stored.json'));
    });
});

type Build = (input: never) => Promise<Instruction>;

const BUILDERS: { [instruction: string]: Build } = {
    list_agent: client.getListAgentInstructionAsync,
    open_execution: client.getOpenExecutionInstructionAsync,
    open_execution_with_grant: client.getOpenExecutionWithGrantInstructionAsync,
    complete_execution: client.getCompleteExecutionInstructionAsync,
    fail_execution: client.getFailExecutionInstructionAsync,
    refund_expired_execution: client.getRefundExpiredExecutionInstructionAsync,
    grant_spending: client.getGrantSpendingInstructionAsync,
};

const BYTES = new Set(['execution_id', 'request_hash', 'result_hash', 'metadata_hash', 'terms_hash']);

/** An input of a vector in the client's own types. A key that has to sign becomes a signer. */
function input(name: string, value: Json, signs: (address: string) => boolean): unknown {
    if (name === 'reason') return client.FailureReason[value as keyof typeof client.FailureReason];
    if (typeof value !== 'string') return value;
    if (BYTES.has(name)) return new Uint8Array(Buffer.from(value, 'hex'));
    if (/^-?[0-9]+$/.test(value)) return BigInt(value);
    if (name !== 'session_key' && signs(value)) return createNoopSigner(value as Address);
    return value;
}

describe('instructions', () => {
    it.each(vectors<InstructionVector[]>('instructions.json'))(
        'builds $instruction as the Rust builders do',
        async ({ instruction, inputs, program, accounts, data }) => {
            const build = BUILDERS[instruction];
            if (build === undefined) throw new Error(`no builder for ${instruction}`);
            const signs = (address: string) => accounts.some((meta) => meta.signer && meta.address === address);
            const given = Object.entries(inputs).map(([name, value]) => [camel(name), input(name, value, signs)]);
            if (typeof inputs['session_key'] === 'string' && signs(inputs['session_key'])) {
                given.push(['sessionKey', createNoopSigner(inputs['session_key'] as Address)]);
            }
            // The program's address stands for an optional account that is not there: nothing is signed here.
            if (instruction === 'fail_execution') given.push(['instructionsSysvar', program]);
            const built = await build(Object.fromEntries(given) as never);
            expect(built.programAddress).toBe(program);
            const metas = (built.accounts ?? []).map(({ address, role }) => ({
                address,
                signer: isSignerRole(role),
                writable: isWritableRole(role),
            }));
            expect(metas).toEqual(accounts);
            expect(built.data).toEqual(base64(data));
        },
    );
});

describe('open terms', () => {
    it('decodes and encodes every field', () => {
        const { data, fields } = vectors<{ data: string; fields: Json }>('open_terms.json');
        const codec = client.getOpenTermsCodec();
        expect(codec.fixedSize).toBe(base64(data).length);
        expect(spelled(codec.decode(base64(data)))).toEqual(fields);
        expect(codec.encode(codec.decode(base64(data)))).toEqual(base64(data));
    });

    it('does not hinder the reading of the record in front of them', () => {
        const record = vectors<AccountVector[]>('accounts.json').find(({ account }) => account === 'ExecutionRecord');
        const terms = vectors<{ data: string }>('open_terms.json');
        const open = new Uint8Array([...base64(record?.data ?? ''), ...base64(terms.data)]);
        const { discriminator, ...decoded } = client.getExecutionRecordDecoder().decode(open);
        expect(discriminator.length).toBe(8);
        expect(spelled(decoded)).toEqual(record?.fields);
    });
});

type ProofVector = {
    result_key: Address;
    result_hash: string;
    opening: { record: Address; opened_at_unix_s: string } | null;
    signature: string;
    message: string;
    instruction: { program: string; data: string };
};

describe('proofs of results', () => {
    const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
    const proofs = vectors<ProofVector[]>('proofs.json').map((vector) => ({
        ...vector,
        signed: {
            resultHash: bytes(vector.result_hash),
            opening: vector.opening
                ? { record: vector.opening.record, openedAtUnixS: BigInt(vector.opening.opened_at_unix_s) }
                : undefined,
        } satisfies SignedResult,
    }));

    it.each(proofs)('builds the message and the instruction of the program (opening: $opening)', (vector) => {
        const { signed, message, instruction } = vector;
        expect(signedMessage(signed)).toEqual(base64(message));
        const proof = { ...signed, resultKey: vector.result_key, signature: bytes(vector.signature) };
        const built = getResultProofInstruction(proof);
        expect(built.programAddress).toBe(instruction.program);
        expect(built.data).toEqual(base64(instruction.data));
    });

    it('verifies a signature for its own shape, opening and result alone', async () => {
        const [unbound, bound] = proofs;
        if (unbound === undefined || bound === undefined) throw new Error('both shapes have a vector');
        for (const { signed, result_key: resultKey, signature } of proofs) {
            const own = { resultKey, signature: bytes(signature) };
            expect(await verifyResult({ ...signed, ...own })).toBe(true);
            expect(await verifyResult({ ...signed, resultHash: new Uint8Array(32), ...own })).toBe(false);
        }
        const swapped = { resultKey: bound.result_key, signature: bytes(bound.signature) };
        expect(await verifyResult({ ...unbound.signed, ...swapped })).toBe(false);
        const { opening } = bound.signed;
        if (opening === undefined) throw new Error('the second vector is bound');
        for (const other of [
            { ...opening, record: unbound.result_key },
            { ...opening, openedAtUnixS: opening.openedAtUnixS + 1n },
        ])
            expect(await verifyResult({ ...bound.signed, opening: other, ...swapped })).toBe(false);
        const unboundSignature = { resultKey: unbound.result_key, signature: bytes(unbound.signature) };
        expect(await verifyResult({ ...bound.signed, ...unboundSignature })).toBe(false);
    });

    it('refuses hashes and signatures of a wrong length', async () => {
        expect(() => signedMessage({ resultHash: new Uint8Array(31) })).toThrow(RangeError);
        const proof = { resultHash: new Uint8Array(32), resultKey: 'x' as Address, signature: new Uint8Array(63) };
        expect(() => getResultProofInstruction(proof)).toThrow(RangeError);
        await expect(verifyResult(proof)).rejects.toThrow(RangeError);
    });
});

describe('addresses', () => {
    it('finds every address that the program derives', async () => {
        const given = vectors<{
            wallet: Address;
            agent: Address;
            record: Address;
            session_key: Address;
            index: number;
            execution_id: string;
            found: { [name: string]: string };
        }>('addresses.json');
        const executionId = new Uint8Array(Buffer.from(given.execution_id, 'hex'));
        expect({
            config: await addresses.findConfigAddress(),
            creator_profile: await addresses.findCreatorProfileAddress(given.wallet),
            agent_listed: await addresses.findAgentListedAddress(given.wallet, given.index),
            escrow: await addresses.findEscrowAddress(given.agent),
            collateral_vault: await addresses.findCollateralVaultAddress(given.agent),
            execution_record: await addresses.findExecutionRecordAddress(given.wallet, executionId),
            dispute: await addresses.findDisputeAddress(given.record),
            spending_grant: await addresses.findSpendingGrantAddress(given.wallet, given.session_key),
            spender: await addresses.findSpenderAddress(given.wallet),
            event_authority: await addresses.findEventAuthorityAddress(),
        }).toEqual(given.found);
    });
});
