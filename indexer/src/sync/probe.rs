//! The slot up to which every change was delivered, proved by the program's transactions: no transaction after the last
//! known one, told by a node that has reached a slot, means that nothing is missing up to that slot.

use std::{sync::atomic::Ordering, time::Duration};

use crtx_store::mirror;
use solana_signature::Signature;
use tokio::time::{Instant, sleep};

use super::{
    error::SyncError,
    parts::{Parts, lock},
};
use crate::source::At;

/// How long the changes of a transaction may take longer than the transaction.
const PATIENCE: Duration = Duration::from_secs(2);
/// A node that does not offer transactions is asked again after this time.
const UNOFFERED: Duration = Duration::from_secs(60);

/// What the last answers said.
#[derive(Default)]
struct Known {
    /// The newest transaction whose changes are applied.
    newest: Option<Signature>,
    /// Since when transactions have been without their changes.
    waiting: Option<Instant>,
}

impl Parts {
    /// Asks for transactions in regular intervals, until the database fails.
    pub async fn probes(&self) -> SyncError {
        let mut known = Known::default();
        loop {
            sleep(self.settings.probe_interval).await;
            if !self.caught_up.load(Ordering::Relaxed) {
                continue;
            }
            match self.probe(&mut known).await {
                Ok(true) => {}
                Ok(false) => sleep(UNOFFERED).await,
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => tracing::debug!(cause = %error, "the program's transactions could not be listed"),
            }
        }
    }

    /// False if the node does not offer transactions.
    async fn probe(&self, known: &mut Known) -> Result<bool, SyncError> {
        let slot = self.source.slot(At::Confirmed).await?;
        self.pulse.chain_slot(slot);
        // What a late stream lacks may wait in it.
        if slot <= self.indexed() || self.pulse.heard().late() {
            known.waiting = None;
            return Ok(true);
        }
        let Some(transactions) = self.source.transactions_after(known.newest, slot).await? else { return Ok(false) };
        let indexed = self.indexed();
        let missing = {
            let delivered = lock(&self.delivered);
            transactions.iter().any(|t| !t.failed && t.slot <= slot && t.slot > indexed && !delivered.has(t.slot))
        };
        if !missing {
            known.waiting = None;
            // A transaction of a later slot than the one that was asked for may still lack its changes.
            if let Some(newest) = transactions.iter().find(|transaction| transaction.slot <= slot) {
                known.newest = Some(newest.signature);
            }
            self.indexed.fetch_max(slot, Ordering::Relaxed);
            mirror::move_to(&self.pool, slot).await?;
            return Ok(true);
        }
        let since = *known.waiting.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE || lock(&self.delivered).stale_slots {
            known.waiting = None;
            self.resync_now.notify_one();
        }
        Ok(true)
    }
}
