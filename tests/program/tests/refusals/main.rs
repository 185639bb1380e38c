//! What each instruction of the paid call refuses: wrong signers, accounts, mints, owners, states, times
//! and amounts, each with an error of its own, and with nothing moved.

mod configuration;
mod endings;
mod grants;
mod openings;
mod profiles_and_listings;

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;
use solana_address::Address;
use solana_instruction::error::InstructionError;

use MarketplaceError as E;

/// Anchor's numbers for accounts that are not what they should be.
const ANCHOR_NOT_SIGNER: u32 = 3_010;
const ANCHOR_WRONG_OWNER: u32 = 3_007;
const ANCHOR_WRONG_DISCRIMINATOR: u32 = 3_002;
/// SPL Token's number.
const TOKEN_INSUFFICIENT_FUNDS: u32 = 1;

/// A settlement with a canonical proof is refused and no USDC moved.
#[track_caller]
fn settle_refused(world: &mut World, execution: &Execution, error: E, changes: &[(&str, Address)]) {
    let settle = forged(world.complete_execution(execution), changes);
    let authority = account_of(&settle, "authority");
    let balances = world.token_balances();
    let proof = world.proof(execution).instruction();
    let signers = everybody(world);
    let signers: Vec<&Keypair> = signers.iter().filter(|key| key.pubkey() == authority).collect();
    assert_error_at(world.send(&[proof, settle], &signers), 1, error);
    assert_eq!(world.token_balances(), balances);
    assert_eq!(world.status(execution), ExecutionStatus::Open);
}

fn everybody(world: &World) -> Vec<Keypair> {
    [&world.gateway, &world.agent.creator, &world.caller, &world.stranger, &world.admin]
        .map(|actor| actor.keypair.insecure_clone())
        .into()
}

/// A grant within the limits, to the world's session key.
fn grant_args(world: &World) -> ix::GrantSpendingArgs {
    ix::GrantSpendingArgs {
        session_key: world.session.pubkey(),
        per_call_cap: USDC,
        total_cap: 10 * USDC,
        daily_cap: 0,
        expires_at_unix_s: START_UNIX_S + 1,
        allowed_agents: vec![],
    }
}
