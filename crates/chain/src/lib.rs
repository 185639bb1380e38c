//! The chain as the services see it: the program's accounts and instructions, one RPC client at
//! `confirmed`, and a way to send a transaction after which no outcome is guessed.
#![forbid(unsafe_code)]

pub mod account;
pub mod filter;
pub mod instructions;
pub mod rpc;
pub mod send;
#[cfg(feature = "testing")]
pub mod testing;
pub mod token;
pub mod transaction;

pub use account::{DecodeError, Layout, ProgramAccount};
pub use filter::AccountFilter;
pub use instructions::Instructions;
pub use rpc::{AtSlot, ChainClient, ChainError, FetchedAccount};
pub use send::Outcome;
pub use solana_commitment_config::CommitmentConfig;
pub use transaction::{RecentBlockhash, SignError, SignedTransaction};
