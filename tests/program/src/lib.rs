//! What the program's tests share: a small world in LiteSVM around the committed ELF, every instruction
//! and every correct and wrong Ed25519 proof, the invariants, and the measurement of compute units.
//!
//! LiteSVM runs with its default feature set, which is mainnet's (as of August 2026): the SPL Token
//! program is p-token there, and the rent sysvar has the SIMD-0194 layout.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::result_large_err,
    reason = "a test fixture: a panic is a failed test"
)]

pub mod cu;
pub mod expect;
pub mod forge;
pub mod idl;
pub mod instructions;
pub mod invariants;
pub mod ledger;
pub mod packing;
pub mod people;
pub mod proof;
pub mod proxy;
pub mod refusal;
pub mod state_machine;
pub mod steps;
pub mod world;

pub use agent_marketplace::{error::MarketplaceError, state};
pub use crtx_chain::instructions::{Opening, Refund, Settlement, SignedFailure};
pub use expect::*;
pub use forge::*;
pub use instructions::RESULT_HASH;
pub use people::*;
pub use proof::Proof;
pub use refusal::*;
pub use solana_instruction::Instruction;
pub use solana_keypair::Keypair;
pub use solana_signer::Signer;
pub use world::*;
