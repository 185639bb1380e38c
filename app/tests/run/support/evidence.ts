// Evidence of an honest execution, for tests that alter one thing of it.

import {
    type Address,
    generateKeyPair,
    getAddressDecoder,
    getAddressEncoder,
    getAddressFromPublicKey,
    signBytes,
} from '@solana/kit';

import { hexOf } from '../../../src/chain/accounts';
import { findEscrowAddress, findExecutionRecordAddress } from '../../../src/chain/addresses';
import type { PlainInstruction } from '../../../src/chain/history';
import { getResultProofInstruction, signedMessage } from '../../../src/chain/proof';
import { uuidBytes } from '../../../src/chain/record';
import { StoredExecutionStatus as Status } from '../../../src/chain/stored';
import { type Evidence, sha256Text } from '../../../src/features/execution/verify/evidence';
import { cidOf } from '../../../src/shared/content';

export const TEXT = '{"words": 3}';
export const OPENED_AT_UNIX_S = 1_000n;
export const ID = '806e1eba-133b-4100-9a5e-ddbe7c578906';
export const key = (byte: number): Address => getAddressDecoder().decode(new Uint8Array(32).fill(byte));
export const sha256 = async (text: string): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

export const keys = await generateKeyPair();

export async function proofOf(
    pair: CryptoKeyPair,
    resultHash: Uint8Array,
    record?: Address,
): Promise<PlainInstruction> {
    const signed = { resultHash, opening: record && { record, openedAtUnixS: OPENED_AT_UNIX_S } };
    const signature = await signBytes(pair.privateKey, signedMessage(signed));
    const built = getResultProofInstruction({
        ...signed,
        resultKey: await getAddressFromPublicKey(pair.publicKey),
        signature,
    });
    return { programId: built.programAddress, accounts: [], data: built.data };
}

/** Evidence of an honest execution that cost 0.01 USDC. */
export async function good(binding = 1): Promise<Evidence> {
    const [caller, agent, creator, treasury, mint] = [key(1), key(2), key(3), key(4), key(6)];
    const [resultHash, resultKey] = [await sha256(TEXT), await getAddressFromPublicKey(keys.publicKey)];
    const recordAddress = await findExecutionRecordAddress(caller, uuidBytes(ID));
    const change = (account: Address, owner: Address, units: bigint) => ({ account, owner, mint, change: units });
    const terms = new Uint8Array(116);
    const view = new DataView(terms.buffer);
    terms.set(new TextEncoder().encode('crtx-terms-v3:'));
    view.setBigUint64(14, 10_000n, true);
    view.setUint32(22, 60, true);
    terms[26] = binding;
    terms[27] = 3;
    terms.set(getAddressEncoder().encode(resultKey), 28);
    terms.set(new Uint8Array(32).fill(5), 60);
    view.setUint32(92, 100, true);
    view.setUint32(96, 20, true);
    view.setBigInt64(100, 259_200n, true);
    view.setBigInt64(108, 120n, true);
    const termsHash = new Uint8Array(await crypto.subtle.digest('SHA-256', terms));
    const transaction = {
        signature: 'settling',
        time: 2,
        instructions: [
            await proofOf(keys, resultHash, binding === 1 ? recordAddress : undefined),
            { programId: key(9), accounts: [], data: new Uint8Array() },
        ],
        inner: [],
        changes: [
            change(await findEscrowAddress(agent), agent, -10_000n),
            change(key(11), creator, 9_900n),
            change(key(12), treasury, 100n),
        ],
    };
    return {
        claims: {
            execution_id: ID,
            agent_id: agent,
            status: 'completed',
            result: TEXT,
            result_hash: await sha256Text(new TextEncoder().encode(TEXT)),
            cost_usdc: 10_000n,
            creator_amount_usdc: 9_900n,
            platform_amount_usdc: 100n,
            tokens_used: null,
            execution_time_ms: 7,
            ipfs_url: `http://x.test/ipfs/${cidOf(hexOf(resultHash))}`,
            on_chain_record: `http://x.test/address/${recordAddress}`,
        },
        recordAddress,
        content: { value: new TextEncoder().encode(TEXT) },
        record: {
            value: {
                agent,
                caller,
                resultHash,
                executionId: uuidBytes(ID),
                amount: 10_000n,
                feeBps: 100,
                maxPenaltyMultiple: 20,
                disputeWindowS: 259_200,
                binding,
                status: Status.Completed,
                failureReason: 0,
                executionTimeMs: 7,
                tokensReported: 0,
                tokensUsed: 0,
                disputeCount: 0,
                openedAtUnixS: OPENED_AT_UNIX_S,
            },
        },
        closedBy: null,
        listing: {
            value: {
                creator,
                resultKey,
                metadataHash: new Uint8Array(32).fill(5),
                timeoutSeconds: 60,
                minCover: 3,
                updatedAtUnixS: 500n,
            },
        },
        dispute: null,
        config: { value: { usdcMint: mint, treasuryOwner: treasury, parameters: { settleGraceS: 120n } } },
        opening: { value: { transaction, executionId: uuidBytes(ID), agent, requestHash: resultHash, termsHash } },
        ending: {
            value: {
                transaction,
                at: 1,
                payees: { kind: 'settled', creator: key(11), treasury: key(12) },
                completion: { resultHash, tokensUsed: null },
            },
        },
    } as unknown as Evidence;
}
