// The instructions that make, change and end the grant of a key, together with the approval that all keys share.

import { type Address, type Instruction, createNoopSigner } from '@solana/kit';

import { findSpendingGrantAddress } from '../../chain/addresses';
import { getGrantSpendingInstructionAsync } from '../../generated/instructions/grantSpending';
import { getRevokeSpendingInstruction } from '../../generated/instructions/revokeSpending';
import { type Funds, approvalInstructions, approvalWith, approvalWithout, grantOf } from './funds';
import { type Limits, expiresAt } from './limits';
import { words } from './words';

/** Grants, or changes what is granted. The approval rises by what is missing. */
export async function grantInstructions(
    funds: Funds,
    wallet: Address,
    mint: Address,
    sessionKey: Address,
    limits: Limits,
): Promise<Instruction[]> {
    if (grantOf(funds, sessionKey)?.revoked === 1) throw new Error(words.revocation.already);
    const grant = await getGrantSpendingInstructionAsync({
        wallet: createNoopSigner(wallet),
        sessionKey,
        perCallCap: limits.perCallCap,
        totalCap: limits.totalCap,
        dailyCap: limits.dailyCap,
        expiresAtUnixS: expiresAt(limits, funds.now),
        allowedAgents: [...limits.agents] as Address[],
    });
    return [
        ...(await approvalInstructions(
            funds,
            wallet,
            mint,
            approvalWith(funds, sessionKey, limits.totalCap, limits.perCallCap),
        )),
        grant,
    ];
}

/** Ends the grant, and takes back what the key could still have spent. */
export async function revocationInstructions(
    funds: Funds,
    wallet: Address,
    mint: Address,
    sessionKey: Address,
): Promise<Instruction[]> {
    const grant = await findSpendingGrantAddress(wallet, sessionKey);
    const revocation = getRevokeSpendingInstruction({ wallet: createNoopSigner(wallet), grant });
    if (!funds.hasAccount) return [revocation];
    return [...(await approvalInstructions(funds, wallet, mint, approvalWithout(funds, sessionKey))), revocation];
}
