//! Past transactions of the chain, for what only they have: the last bytes of closed accounts, and the terms of openings.

use async_trait::async_trait;
use crtx_chain::{
    ChainClient, ChainError,
    past::{Depth, Listed, PastTransaction},
};
use solana_pubkey::Pubkey;

/// A node that keeps the transactions of the program: a [`ChainClient`] the finalized ones.
#[async_trait]
pub trait History: Send + Sync + 'static {
    /// The newest transactions that name an address, newest first, at most `limit`. `before`: older than this signature.
    async fn about(&self, address: &Pubkey, before: Option<&str>, limit: usize) -> Result<Vec<Listed>, ChainError>;

    /// A transaction; `None` if the node does not have it.
    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError>;
}

#[async_trait]
impl History for ChainClient {
    async fn about(&self, address: &Pubkey, before: Option<&str>, limit: usize) -> Result<Vec<Listed>, ChainError> {
        self.transactions_about(address, before, limit).await
    }

    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError> {
        self.past_transaction(signature).await
    }
}

/// Transactions that are confirmed, and may be dropped with a fork: for what is itself provisional until it is final.
pub struct Confirmed(pub ChainClient);

#[async_trait]
impl History for Confirmed {
    async fn about(&self, address: &Pubkey, before: Option<&str>, limit: usize) -> Result<Vec<Listed>, ChainError> {
        self.0.transactions_about_at(Depth::Confirmed, address, before, limit).await
    }

    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError> {
        self.0.past_transaction_at(Depth::Confirmed, signature).await
    }
}
