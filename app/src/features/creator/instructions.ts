// The instructions with which a creator manages an agent. Accounts and order are those of the command line.

import { type Address, type Instruction, createNoopSigner } from '@solana/kit';

import type { OwnAgent } from '../../chain/listing';
import { createTokenAccount } from '../../chain/token';
import { getCloseAgentInstructionAsync } from '../../generated/instructions/closeAgent';
import { getDelistAgentInstruction } from '../../generated/instructions/delistAgent';
import { getDepositCollateralInstructionAsync } from '../../generated/instructions/depositCollateral';
import { getSetAgentStatusInstructionAsync } from '../../generated/instructions/setAgentStatus';
import { getUpdateListingInstructionAsync } from '../../generated/instructions/updateListing';
import { getUpsertCreatorProfileInstructionAsync } from '../../generated/instructions/upsertCreatorProfile';
import { getWithdrawCollateralInstructionAsync } from '../../generated/instructions/withdrawCollateral';
import { AgentStatus } from '../../generated/types/agentStatus';

type Own = { readonly agent: Address; readonly creator: Address };

const signed = ({ agent, creator }: Own) => ({ agent, creator: createNoopSigner(creator) });

export const pause = async (own: Own): Promise<Instruction[]> => [
    await getSetAgentStatusInstructionAsync({ ...signed(own), status: AgentStatus.Paused }),
];

export const resume = async (own: Own): Promise<Instruction[]> => [
    await getSetAgentStatusInstructionAsync({ ...signed(own), status: AgentStatus.Active }),
];

export const topUp = async (own: Own, { mint, wallet }: OwnAgent, amount: bigint): Promise<Instruction[]> => [
    await getDepositCollateralInstructionAsync({
        ...signed(own),
        creatorToken: wallet.tokenAccount,
        usdcMint: mint,
        amount,
    }),
];

/** The program leaves fields that are `null` as they are. */
const UNCHANGED = { price: null, timeoutSeconds: null, binding: null, minCover: null, metadata: null } as const;

export const rotateKey = async (own: Own, resultKey: Address): Promise<Instruction[]> => [
    await getUpdateListingInstructionAsync({ ...signed(own), ...UNCHANGED, resultKey }),
];

export const delist = (own: Own): Instruction[] => [getDelistAgentInstruction(signed(own))];

/** Creates the USDC account that receives the payout, because it may have been closed. */
const receiving = ({ creator }: Own, { mint, wallet }: OwnAgent): Instruction[] =>
    wallet.hasTokenAccount ? [] : [createTokenAccount(creator, wallet.tokenAccount, creator, mint)];

export const withdraw = async (own: Own, chain: OwnAgent): Promise<Instruction[]> => [
    ...receiving(own, chain),
    await getWithdrawCollateralInstructionAsync({
        ...signed(own),
        creatorToken: chain.wallet.tokenAccount,
        usdcMint: chain.mint,
    }),
];

export const close = async (own: Own, chain: OwnAgent): Promise<Instruction[]> => [
    ...receiving(own, chain),
    await getCloseAgentInstructionAsync({
        ...signed(own),
        creatorToken: chain.wallet.tokenAccount,
        usdcMint: chain.mint,
    }),
];

export const rename = async (wallet: Address, displayName: string): Promise<Instruction[]> => [
    await getUpsertCreatorProfileInstructionAsync({ wallet: createNoopSigner(wallet), displayName }),
];
