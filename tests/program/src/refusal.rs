//! Instructions that must be refused, each with an error of its own, and with no USDC moved.

use agent_marketplace::error::MarketplaceError;
use anchor_lang::prelude::Pubkey;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

use crate::{expect::assert_error_at, forge::forged, world::World};

/// Fails unless `instruction` is refused with `error` and moves no USDC.
#[track_caller]
pub fn refused(world: &mut World, instruction: Instruction, signers: &[&Keypair], error: MarketplaceError) {
    let balances = world.token_balances();
    assert_error_at(world.send(&[instruction], signers), 0, error);
    assert_eq!(world.token_balances(), balances, "refused, and still USDC moved");
}

/// Fails unless `instruction` is refused whenever a named account has this address, with this error.
#[track_caller]
pub fn refused_with(
    world: &mut World,
    instruction: &Instruction,
    signers: &[&Keypair],
    cases: &[(&str, Pubkey, MarketplaceError)],
) {
    for (name, address, error) in cases {
        refused(world, forged(instruction.clone(), &[(*name, *address)]), signers, *error);
    }
}
