//! Past transactions of the chain, for what only they have: the last bytes of closed accounts.

use async_trait::async_trait;
use crtx_chain::{
    ChainClient, ChainError, CommitmentConfig,
    past::{PastTransaction, SignatureInfo},
};
use solana_pubkey::Pubkey;

/// A node that keeps the transactions of the program.
#[async_trait]
pub trait History: Send + Sync + 'static {
    /// The newest transactions that name an address, newest first, at most `limit`. `before`: older than this signature.
    async fn about(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SignatureInfo>, ChainError>;

    /// A transaction; `None` if the node does not have it.
    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError>;
}

/// The transactions at this commitment. Confirmed ones may be dropped with a fork: they are for what is itself provisional
/// until it is final.
pub struct Past(pub ChainClient, pub CommitmentConfig);

#[async_trait]
impl History for Past {
    async fn about(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SignatureInfo>, ChainError> {
        self.0.transactions_about(self.1, address, before, limit).await
    }

    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError> {
        self.0.past_transaction(self.1, signature).await
    }
}
