//! Access to the chain for the services: the program's accounts and instructions, a client for one or several RPC
//! nodes at `confirmed`, and sending of transactions with a certain outcome.
#![forbid(unsafe_code)]

pub mod account;
mod blockhash;
pub mod clock;
mod confirm;
pub mod deployment;
pub mod error;
pub mod execution;
pub mod filter;
mod health;
pub mod instructions;
mod layout;
pub mod loader;
mod node;
mod nodes;
pub mod past;
pub mod rpc;
mod seen;
mod send;
pub mod simulate;
mod statuses;
#[cfg(feature = "testing")]
pub mod testing;
pub mod token;
pub mod transaction;
pub mod urls;
pub mod wire;

pub use account::ProgramAccount;
pub use crtx_protocol::transaction::Outcome;
pub use error::ChainError;
pub use execution::Execution;
pub use filter::AccountFilter;
pub use instructions::Instructions;
pub use layout::{DecodeError, Layout};
pub use node::http_client;
pub use rpc::ChainClient;
pub use simulate::Simulation;
pub use solana_commitment_config::CommitmentConfig;
pub use solana_system_interface::instruction as system;
pub use transaction::{Budget, RecentBlockhash, SignError, SignedTransaction, VERSION_1_FEATURE};
pub use urls::RpcUrls;
pub use wire::{AtSlot, FetchedAccount};
