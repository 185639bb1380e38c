//! Which chain and which slots are believed. One answer replaces nothing.
//!
//! A node, or one of many behind a load balancer, can name a slot that the chain has not reached. What is shown, and how
//! long it is shown, depends on slots: a slot that is far from the newest known one needs a second answer. What was
//! believed wrongly is taken back once the chain is seen elsewhere for a while.

use std::time::Duration;

use crtx_store::mirror;
use tokio::time::{Instant, sleep};

use super::{
    heard::{LONG_AGO, is_far, is_long_before},
    syncer::{SyncError, Syncer},
};
use crate::source::{At, SourceError};

/// For so long all answers must name an earlier slot before the mirror takes the later one for wrong. By then a node
/// that lags behind has caught up.
const TAKEN_BACK_AFTER: Duration = Duration::from_secs(10);
/// How long a status says that a node named a slot that is not believed.
const DOUBT_IS_SHOWN: Duration = Duration::from_secs(60);

impl Syncer {
    /// The genesis hash of the chain that the mirror shows. Fails if the node belongs to another one, unless the
    /// operator allowed that; then it empties the mirror.
    pub(super) async fn check_genesis(&self) -> Result<String, SyncError> {
        let told = self.source.genesis_hash().await?;
        let checkpoint = mirror::checkpoint(&self.pool).await?;
        let known = checkpoint.as_ref().and_then(|checkpoint| checkpoint.genesis_hash.clone());
        let Some(known) = known.filter(|known| *known != told) else {
            if let Some(checkpoint) = checkpoint {
                self.known().reached(checkpoint.slot);
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
        self.known().forget_chain();
        Ok(told)
    }

    /// Tells the source which chain the mirror shows, so that endpoints of another one are not used.
    pub(super) async fn expect_known_chain(&self) -> Result<(), SyncError> {
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

    /// The newest confirmed slot that the node tells. Fails if it is not believed, and while all answers are long before
    /// what was believed and shown.
    pub(super) async fn chain_slot(&self) -> Result<u64, SyncError> {
        let told = self.source.slot(At::Confirmed).await?;
        let (heard, shown) = {
            let known = self.known();
            (known.heard, known.indexed)
        };
        let newest = heard.chain_slot.unwrap_or_default().max(shown);
        if heard.chain_slot.is_some() && heard.may_have(told) && !is_long_before(told, newest) {
            let mut known = self.known();
            known.behind_since = None;
            known.heard.chain_slot(told);
            return Ok(told);
        }
        let second = self.second_answer().await?;
        if is_far(told, second) || is_far(second, told) {
            return Err(self.doubt(told.max(second), told.min(second)));
        }
        let slot = told.min(second);
        if is_long_before(slot, newest) && !is_for_long(&mut self.known().behind_since) {
            let message = format!(
                "the mirror has seen slot {newest}, and the chain is at slot {slot} by the node at {}",
                self.source.name()
            );
            self.problems.set_for("behind", &message, TAKEN_BACK_AFTER);
            return Err(SyncError::Doubtful(message));
        }
        if heard.chain_slot.is_some() {
            tracing::warn!(slot, before = heard.chain_slot, "two answers agree that the chain is at another slot");
            // What was doubted until now was right.
            self.problems.clear(&["slot_doubted"]);
        }
        let mut known = self.known();
        known.heard.chain_is_at(slot);
        known.slots_checked = false;
        Ok(slot)
    }

    /// Of another node if there is one.
    async fn second_answer(&self) -> Result<u64, SyncError> {
        if let Some(witness) = self.source.witness()
            && let Ok(slot) = witness.slot(At::Confirmed).await
        {
            return Ok(slot);
        }
        sleep(self.settings.second_look_after.min(Duration::from_millis(200))).await;
        Ok(self.source.slot(At::Confirmed).await?)
    }

    fn doubt(&self, slot: u64, other: u64) -> SyncError {
        let message = format!(
            "the node at {} named slot {slot}, and the chain is at slot {other} by another answer: it is not believed",
            self.source.name()
        );
        self.problems.set_for("slot_doubted", &message, DOUBT_IS_SHOWN);
        SyncError::Doubtful(message)
    }

    /// Fails if an answer names a slot that the chain cannot have reached.
    pub(super) async fn believe(&self, slot: u64) -> Result<(), SyncError> {
        let heard = self.known().heard;
        if heard.chain_slot.is_some() && heard.may_have(slot) {
            return Ok(());
        }
        let chain = self.chain_slot().await?;
        if self.known().heard.may_have(slot) { Ok(()) } else { Err(self.doubt(slot, chain)) }
    }

    /// The newest finalized slot that the node tells.
    pub(super) async fn finalized_slot(&self) -> Result<u64, SyncError> {
        let finalized = self.source.slot(At::Finalized).await?;
        self.believe(finalized).await?;
        self.known().heard.finalized_slot(finalized);
        Ok(finalized)
    }

    /// Whether a notification names a slot that can be true. If not, the status says so.
    pub(super) fn may_have(&self, slot: u64) -> bool {
        let heard = self.known().heard;
        let may = heard.may_have(slot);
        if !may {
            drop(self.doubt(slot, heard.chain_slot.unwrap_or_default()));
        }
        may
    }

    /// Takes back slots that the mirror believed and the chain has not reached. Fails while it is not sure.
    pub(super) async fn take_back_slots(&self) -> Result<(), SyncError> {
        let chain = self.chain_slot().await?;
        let (first, last) = (chain.saturating_sub(1), chain.saturating_add(LONG_AGO));
        let changed = mirror::take_back_slots(&self.pool, last, first).await?;
        let mut known = self.known();
        let newest = known.indexed.max(known.filled_at);
        if changed > 0 || newest > last {
            tracing::warn!(changed, chain, newest, "the mirror had slots that the chain has not reached");
        }
        if newest > last {
            known.go_back_to(first);
        }
        Ok(())
    }
}

fn is_for_long(since: &mut Option<Instant>) -> bool {
    since.get_or_insert_with(Instant::now).elapsed() >= TAKEN_BACK_AFTER
}
