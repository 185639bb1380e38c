//! What is kept of the chain: one [`Block`] for each block with transactions, the position that it leads to, and
//! the accounts that it changed.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use solana_account::Account;
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

/// An account as JSON. `None` in a map of these means that the account was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAccount {
    pub lamports: u64,
    pub owner: String,
    pub rent_epoch: u64,
    pub data: String,
}

/// One block with its transactions and its effect.
#[derive(Debug, Serialize, Deserialize)]
pub struct Block {
    /// Counts the blocks that were written, without a gap.
    pub number: u64,
    /// Where the chain stands after it.
    pub position: Position,
    pub slot: u64,
    pub header: BlockHeader,
    /// By signature, in the order of their execution.
    pub transactions: Vec<(String, SurfnetTransactionStatus)>,
    pub accounts: BTreeMap<String, Option<SavedAccount>>,
}

impl SavedAccount {
    pub fn of(account: &Account) -> Self {
        Self {
            lamports: account.lamports,
            owner: account.owner.to_string(),
            rent_epoch: account.rent_epoch,
            data: BASE64_STANDARD.encode(&account.data),
        }
    }

    /// `None` if the text is not what [`SavedAccount::of`] writes.
    pub fn to_account(&self) -> Option<Account> {
        Some(Account {
            lamports: self.lamports,
            data: BASE64_STANDARD.decode(&self.data).ok()?,
            owner: self.owner.parse().ok()?,
            executable: false,
            rent_epoch: self.rent_epoch,
        })
    }
}
