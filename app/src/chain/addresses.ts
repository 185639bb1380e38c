// Every address that the program derives, by what it follows from. The generated functions also return the bump, which
// clients do not need.

import { type Address, type ProgramDerivedAddress, type ReadonlyUint8Array } from '@solana/kit';

import * as pdas from '../generated/pdas';

const addressOf = async (found: Promise<ProgramDerivedAddress>): Promise<Address> => (await found)[0];

/** The deployment's configuration. */
export const findConfigAddress = (): Promise<Address> => addressOf(pdas.findConfigPda());

/** A creator's profile. */
export const findCreatorProfileAddress = (wallet: Address): Promise<Address> =>
    addressOf(pdas.findCreatorProfilePda({ wallet }));

/** A listing; its base58 form is the API's `agent_id`. */
export const findAgentListedAddress = (creator: Address, index: number): Promise<Address> =>
    addressOf(pdas.findAgentListedPda({ creator, index }));

/** Token account with the USDC of all open executions of an agent. */
export const findEscrowAddress = (agent: Address): Promise<Address> => addressOf(pdas.findEscrowPda({ agent }));

/** Token account with an agent's locked collateral. */
export const findCollateralVaultAddress = (agent: Address): Promise<Address> =>
    addressOf(pdas.findCollateralVaultPda({ agent }));

/** The record of an execution; `executionId` are the 16 bytes of its UUID. */
export const findExecutionRecordAddress = (caller: Address, executionId: ReadonlyUint8Array): Promise<Address> =>
    addressOf(pdas.findExecutionRecordPda({ caller, executionId }));

/** The dispute about an execution. */
export const findDisputeAddress = (execution: Address): Promise<Address> =>
    addressOf(pdas.findDisputePda({ execution }));

/** What a session key may spend of a wallet's USDC. */
export const findSpendingGrantAddress = (wallet: Address, sessionKey: Address): Promise<Address> =>
    addressOf(pdas.findSpendingGrantPda({ wallet, sessionKey }));

/** The SPL delegate that a wallet approves once for all of its keys. */
export const findSpenderAddress = (wallet: Address): Promise<Address> => addressOf(pdas.findSpenderPda({ wallet }));

/** Signs the events that the program emits by calling itself. */
export const findEventAuthorityAddress = (): Promise<Address> => addressOf(pdas.findEventAuthorityPda());
