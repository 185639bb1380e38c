//! What is kept of the chain: one [`Block`] for each block with transactions, the position that it leads to, and
//! the accounts that it changed.

use serde::{Deserialize, Serialize};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use surfpool_core::{surfnet::BlockHeader, types::SurfnetTransactionStatus};

/// Where the chain stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub slot: u64,
    pub block_height: u64,
    /// Index of the latest block hash, as Surfpool numbers them.
    pub tip_index: u64,
    /// The chain's clock in milliseconds since 1970. Ahead of the machine's after a time travel.
    pub clock_unix_ms: u64,
    /// The machine's clock when this was written.
    pub saved_at_unix_ms: u64,
}

/// One block with its transactions and its effect.
#[derive(Debug)]
pub struct Block {
    /// Where the chain stands after it.
    pub position: Position,
    pub slot: u64,
    pub header: BlockHeader,
    /// In the order of their execution.
    pub transactions: Vec<(Signature, SurfnetTransactionStatus)>,
    /// The accounts that it changed. `None`: the account was closed.
    pub accounts: Vec<(Pubkey, Option<Account>)>,
}
