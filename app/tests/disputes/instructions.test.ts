// Who pays the bond of a dispute, and who gets it: the accounts that the instructions name.

import { type Address, type Instruction, getAddressDecoder } from '@solana/kit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { findEscrowAddress } from '../../src/chain/addresses';
import { findTokenAccount } from '../../src/chain/token';
import type { Case } from '../../src/features/disputes/chain/case';
import {
    cancelInstructions,
    decideInstructions,
    expireInstructions,
    openInstructions,
} from '../../src/features/disputes/chain/instructions';
import { parseCancelDisputeInstruction } from '../../src/generated/instructions/cancelDispute';
import { parseExpireDisputeInstruction } from '../../src/generated/instructions/expireDispute';
import { parseOpenDisputeInstruction } from '../../src/generated/instructions/openDispute';
import { parseResolveDisputeInstruction } from '../../src/generated/instructions/resolveDispute';
import { DisputeDecision } from '../../src/generated/types/disputeDecision';
import { node } from '../support/node';

const key = (byte: number): Address => getAddressDecoder().decode(new Uint8Array(32).fill(byte));
const [CALLER, CREATOR, RESOLVER, INSURANCE] = [key(1), key(2), key(3), key(4)];
const [AGENT, RECORD, MINT] = [key(5), key(6), key(7)];
const REASONS = { hash: new Uint8Array(32).fill(9), uri: 'ipfs://reasons' };
const NODE = 'http://node.test';

/** The node has none of the accounts. */
beforeEach(() => {
    node({ getMultipleAccounts: ([keys]: [string[]]) => ({ context: { slot: 1 }, value: keys.map(() => null) }) });
});
afterEach(() => void vi.unstubAllGlobals());

const found = (bond: bigint, resolver = RESOLVER): Case =>
    ({
        recordAddress: RECORD,
        record: { agent: AGENT, caller: CALLER, amount: 50_000n },
        dispute: { bond, coveredAmount: 50_000n },
        agent: { creator: CREATOR },
        config: { resolver, usdcMint: MINT, insuranceOwner: INSURANCE },
    }) as unknown as Case;

/** The last instruction in the client's own types; it is always the one of the program. */
const last = (instructions: readonly Instruction[]): never => instructions.at(-1) as never;
const made = (instructions: readonly Instruction[]): Address[] =>
    instructions.slice(0, -1).map(({ accounts }) => accounts?.[2]?.address as Address);
const usdc = (owner: Address): Promise<Address> => findTokenAccount(owner, MINT);

test('the caller pays the bond into the escrow of the agent', async () => {
    const { accounts } = parseOpenDisputeInstruction(
        last(await openInstructions(CALLER, AGENT, RECORD, MINT, REASONS, NODE)),
    );
    expect(accounts.callerToken.address).toBe(await usdc(CALLER));
    expect(accounts.escrow.address).toBe(await findEscrowAddress(AGENT));
});

test('the bond goes to the creator of an abusive dispute, and to the caller otherwise, with the place of the reasons', async () => {
    for (const [decision, owner] of [
        [DisputeDecision.Upheld, CALLER],
        [DisputeDecision.Rejected, CALLER],
        [DisputeDecision.Abusive, CREATOR],
    ] as const) {
        const instructions = await decideInstructions(
            found(100_000n),
            RESOLVER,
            { decision, slash: 0n },
            REASONS,
            NODE,
        );
        const { accounts, data } = parseResolveDisputeInstruction(last(instructions));
        expect(accounts.bondToken.address).toBe(await usdc(owner));
        expect(data).toMatchObject({ decision, slash: 0n, resolutionUri: REASONS.uri });
        expect(made(instructions)).toEqual([owner]);
    }
});

test('accounts are created for those alone who are paid', async () => {
    const decide = async (bond: bigint, slash: bigint) =>
        made(
            await decideInstructions(found(bond), RESOLVER, { decision: DisputeDecision.Upheld, slash }, REASONS, NODE),
        );
    expect(await decide(0n, 0n)).toEqual([]);
    expect(await decide(1n, 50_000n)).toEqual([CALLER]);
    expect(await decide(0n, 50_001n)).toEqual([CALLER, INSURANCE]);
    expect(made(await cancelInstructions(found(0n), NODE))).toEqual([]);
    expect(made(await expireInstructions(found(0n), CREATOR, NODE))).toEqual([]);
    expect(made(await expireInstructions(found(0n, key(0)), CREATOR, NODE))).toEqual([CALLER]);
});

test('a caller who gives up, or whose dispute expires, has the bond back', async () => {
    const cancel = await cancelInstructions(found(100_000n), NODE);
    expect(parseCancelDisputeInstruction(last(cancel)).accounts.callerToken.address).toBe(await usdc(CALLER));
    const expire = await expireInstructions(found(100_000n), CREATOR, NODE);
    expect(parseExpireDisputeInstruction(last(expire)).accounts.callerToken.address).toBe(await usdc(CALLER));
    expect([made(cancel), made(expire)]).toEqual([[CALLER], [CALLER]]);
});
