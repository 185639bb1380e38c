//! Another chain than the one that the mirror shows. One answer replaces nothing.

use std::sync::atomic::Ordering;

use crtx_store::mirror;
use tokio::time::sleep;

use super::{error::SyncError, parts::Parts};
use crate::source::SourceError;

impl Parts {
    /// The genesis hash of the chain that the mirror shows. Fails if the node belongs to another one, unless the
    /// operator allowed that; then it empties the mirror.
    pub async fn check_genesis(&self) -> Result<String, SyncError> {
        let told = self.source.genesis_hash().await?;
        let checkpoint = mirror::checkpoint(&self.pool).await?;
        let known = checkpoint.as_ref().and_then(|checkpoint| checkpoint.genesis_hash.clone());
        let Some(known) = known.filter(|known| *known != told) else {
            if let Some(checkpoint) = checkpoint {
                self.indexed.fetch_max(checkpoint.slot, Ordering::Relaxed);
            }
            self.problems.clear(&["other_genesis_held"]);
            return Ok(told);
        };
        self.look_again(&known, &told).await?;
        if !self.settings.accept_new_genesis {
            return Err(SyncError::OtherGenesis(format!(
                "the node at {} belongs to the chain {told}, and the mirror shows the chain {known}: nothing is \
                 changed. If the new chain is right, set `indexer.accept_new_genesis = true`; the mirror is then \
                 emptied and read again",
                self.source.name()
            )));
        }
        tracing::warn!(known, told, "the mirror is emptied for another chain, as the operator allowed");
        mirror::clear(&self.pool).await?;
        self.forget_chain();
        Ok(told)
    }

    /// Tells the source which chain the mirror shows, so that endpoints of another one are not used.
    pub async fn expect_known_chain(&self) -> Result<(), SyncError> {
        let checkpoint = mirror::checkpoint(&self.pool).await?;
        if let Some(known) = checkpoint.and_then(|checkpoint| checkpoint.genesis_hash) {
            self.source.expect_chain(&known);
        }
        Ok(())
    }

    /// Fails if a second answer, or another node, names the chain that the mirror shows.
    async fn look_again(&self, known: &str, told: &str) -> Result<(), SyncError> {
        sleep(self.settings.second_look_after).await;
        let again = self.source.genesis_hash().await?;
        let other = match self.source.witness() {
            Some(witness) => witness.genesis_hash().await.ok(),
            None => None,
        };
        if again == known || other.is_some_and(|other| other != told) {
            let (node, genesis, expected) = (self.source.name(), told.to_owned(), known.to_owned());
            return Err(SourceError::OtherGenesis { node, genesis, expected }.into());
        }
        Ok(())
    }
}
