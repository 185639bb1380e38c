// The instruction with which a wallet opens an execution itself: the price moves from the wallet into the escrow.

import { type Address, type Instruction, createNoopSigner } from '@solana/kit';

import { findExecutionRecordAddress } from '../../../chain/addresses';
import { uuidBytes } from '../../../chain/record';
import { findTokenAccount } from '../../../chain/token';
import { getOpenExecutionInstructionAsync } from '../../../generated/instructions/openExecution';
import { requestHash } from './request';
import type { StoredCall } from './stored';
import type { CallTerms } from './terms';

export const recordOf = (call: StoredCall): Promise<Address> =>
    findExecutionRecordAddress(call.wallet as Address, uuidBytes(call.executionId));

/** Pays at most the price that the user saw, on the terms that the user saw, and only if the promised cover is there. */
export async function openingOf(
    call: StoredCall,
    { mint, minCover }: Pick<CallTerms, 'mint' | 'minCover'>,
): Promise<Instruction> {
    const wallet = createNoopSigner(call.wallet as Address);
    return getOpenExecutionInstructionAsync({
        caller: wallet,
        payer: wallet,
        agent: call.agentId as Address,
        callerToken: await findTokenAccount(wallet.address, mint),
        usdcMint: mint,
        executionId: uuidBytes(call.executionId),
        requestHash: await requestHash(call),
        maxAmount: BigInt(call.price),
        termsHash: Uint8Array.from(call.termsHash.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16)),
        minCover,
    });
}
