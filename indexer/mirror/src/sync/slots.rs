//! Which slots are believed. A node, or one of many behind a load balancer, can name a slot that the chain has not
//! reached. What is shown, and how long it is shown, depends on slots, so one such answer changes nothing: a slot that is
//! far from the newest known one needs a second answer. What was believed wrongly is taken back once the chain is seen
//! elsewhere for a while.

use std::{
    sync::{Mutex, atomic::Ordering},
    time::Duration,
};

use crtx_store::mirror;
use tokio::time::{Instant, sleep};

use super::{
    error::SyncError,
    parts::{Parts, lock},
    proved::Proved,
    pulse::{LONG_AGO, is_far, is_long_before},
};
use crate::source::At;

/// How long all answers have to tell an earlier slot before the later one is taken for wrong. A node of several that
/// lags behind is asked again before.
const TAKEN_BACK_AFTER: Duration = Duration::from_secs(10);
/// How long a status says that a node named a slot that is not believed.
const DOUBT_IS_SHOWN: Duration = Duration::from_secs(60);

impl Parts {
    /// The newest confirmed slot that the node tells. Fails if it is not believed.
    pub async fn chain_slot(&self) -> Result<u64, SyncError> {
        let told = self.source.slot(At::Confirmed).await?;
        let heard = self.pulse.heard();
        if heard.chain_slot.is_some() && heard.may_have(told) && !heard.is_far_behind(told) {
            *lock(&self.behind_since) = None;
            self.pulse.chain_slot(told);
            return Ok(told);
        }
        let second = self.second_answer().await?;
        if is_far(told, second) || is_far(second, told) {
            return Err(self.doubt(told.max(second), told.min(second)));
        }
        let slot = told.min(second);
        if heard.is_far_behind(slot) && !Self::is_for_long(&self.behind_since) {
            return Ok(slot);
        }
        if heard.chain_slot.is_some() {
            tracing::warn!(slot, before = heard.chain_slot, "two answers agree that the chain is at another slot");
            // What was doubted until now was right.
            self.problems.clear(&["slot_doubted"]);
        }
        self.pulse.chain_is_at(slot);
        self.slots_checked.store(false, Ordering::Relaxed);
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

    fn is_for_long(since: &Mutex<Option<Instant>>) -> bool {
        lock(since).get_or_insert_with(Instant::now).elapsed() >= TAKEN_BACK_AFTER
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
    pub async fn believe(&self, slot: u64) -> Result<(), SyncError> {
        if self.pulse.heard().chain_slot.is_some() && self.pulse.heard().may_have(slot) {
            return Ok(());
        }
        let chain = self.chain_slot().await?;
        if self.pulse.heard().may_have(slot) { Ok(()) } else { Err(self.doubt(slot, chain)) }
    }

    /// The newest finalized slot that the node tells.
    pub async fn finalized_slot(&self) -> Result<u64, SyncError> {
        let finalized = self.source.slot(At::Finalized).await?;
        self.believe(finalized).await?;
        self.pulse.finalized_slot(finalized);
        Ok(finalized)
    }

    /// Whether a notification names a slot that can be true. One that does not is told.
    pub fn may_have(&self, slot: u64) -> bool {
        let heard = self.pulse.heard();
        let may = heard.may_have(slot);
        if !may {
            drop(self.doubt(slot, heard.chain_slot.unwrap_or_default()));
        }
        may
    }

    /// Takes back slots that the mirror believed and the chain has not reached: an earlier version believed every answer.
    /// Fails while it is not sure.
    pub async fn take_back_slots(&self) -> Result<(), SyncError> {
        let chain = self.chain_slot().await?;
        let indexed = mirror::checkpoint(&self.pool).await?.map_or(0, |checkpoint| checkpoint.slot);
        if is_long_before(chain, indexed) {
            if !Self::is_for_long(&self.ahead_since) {
                let message = format!(
                    "the mirror says that it shows slot {indexed}, and the chain is at slot {chain} by the node at {}",
                    self.source.name()
                );
                self.problems.set_for("behind", &message, TAKEN_BACK_AFTER);
                return Err(SyncError::Doubtful(message));
            }
            tracing::warn!(indexed, chain, "the mirror takes back a slot that the chain has not reached");
        }
        let changed =
            mirror::take_back_slots(&self.pool, chain.saturating_add(LONG_AGO), chain.saturating_sub(1)).await?;
        if changed > 0 {
            tracing::warn!(changed, chain, "rows had slots that the chain has not reached");
        }
        if is_long_before(chain, self.indexed()) || is_long_before(chain, indexed) {
            let before = chain.saturating_sub(1);
            self.indexed.store(before, Ordering::Relaxed);
            self.filled_at.store(0, Ordering::Relaxed);
            self.filled.store(false, Ordering::Relaxed);
            *self.proved() = Proved::default();
            self.changes().forget();
        }
        *lock(&self.ahead_since) = None;
        Ok(())
    }
}
