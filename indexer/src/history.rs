//! Past transactions of the chain, for what only they have: the last bytes of closed accounts, and the terms of openings.

use async_trait::async_trait;
use crtx_chain::{
    ChainClient, ChainError,
    past::{Listed, PastTransaction},
};
use solana_pubkey::Pubkey;

/// A node that keeps the finalized transactions of the program.
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
