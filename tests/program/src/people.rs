//! Who and what the tests are about: wallets, agents, executions, and the amounts they start with.

use anchor_lang::prelude::Pubkey;
use ed25519_dalek::SigningKey;
use solana_keypair::Keypair;
use solana_signer::Signer;

pub const PROGRAM_ID: Pubkey = agent_marketplace::ID;
/// The time at which a world begins.
pub const START_UNIX_S: i64 = 1_760_000_000;
/// USDC base units in one USDC.
pub const USDC: u64 = 1_000_000;
/// What every wallet starts with, in USDC base units.
pub const PURSE: u64 = 10_000 * USDC;
/// Price of the first agent's calls.
pub const PRICE: u64 = 50_000;
/// The bond of a dispute.
pub const BOND: u64 = 100_000;
/// Collateral of the first agent: the tier of its price.
pub const COLLATERAL: u64 = 10 * USDC;
pub const TIMEOUT_S: u32 = 60;

/// A wallet with a USDC account.
#[derive(Debug)]
pub struct Actor {
    pub keypair: Keypair,
    pub token: Pubkey,
}

impl Actor {
    pub fn key(&self) -> Pubkey {
        self.keypair.pubkey()
    }
}

impl Clone for Actor {
    fn clone(&self) -> Self {
        Self { keypair: self.keypair.insecure_clone(), token: self.token }
    }
}

/// An agent, listed or not.
#[derive(Clone, Debug)]
pub struct Agent {
    pub creator: Actor,
    pub index: u32,
    pub address: Pubkey,
    pub result_key: SigningKey,
}

/// An execution, opened or not.
#[derive(Clone, Debug)]
pub struct Execution {
    pub id: [u8; 16],
    pub record: Pubkey,
    pub caller: Actor,
    pub agent: Agent,
}
