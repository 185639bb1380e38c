//! Snapshots of the confirmed state: they add what a stream missed, and find closed accounts.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use crtx_store::mirror;
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep, timeout};

use super::{
    syncer::{SyncError, Syncer},
    writer::Item,
};
use crate::{
    snapshots::{AddressSet, next_item},
    source::{At, Snapshot, SnapshotItem, SourceError, has_kind},
};

const MIN_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Pause before a snapshot that was asked for, in lengths of the last one.
const REST: u32 = 10;
/// Longest time for which a snapshot waits for a late stream, in intervals.
const INTERVALS_WHILE_LATE: u32 = 5;
/// Pause after each page of a snapshot while the stream is late, in lengths of the page.
const PAGES_OF_REST: u32 = 4;
/// Between two checks whether the stream is still late.
const LATE_LOOK: Duration = Duration::from_millis(500);

impl Syncer {
    /// Takes a snapshot and applies it page by page.
    pub async fn resync(&self) -> Result<(), SyncError> {
        let _one = self.one_resync.lock().await;
        let began = Instant::now();
        let genesis_hash = self.check_genesis().await?;
        if !self.known().slots_checked {
            self.take_back_slots().await?;
            self.known().slots_checked = true;
        }
        let from = self.known().indexed;
        let (seen, slot, highest) = self.apply_snapshot(from).await?;
        if seen.is_empty() {
            self.doubt_nothing().await?;
        }
        let accounts = seen.len();
        let all_gone = self.find_closed(seen, slot).await?;
        mirror::snapshot_applied(&self.pool, slot, Some(&genesis_hash)).await?;
        let mut known = self.known();
        known.reached(slot);
        if highest > slot {
            // Parts were read at different slots. Between them nobody knows what was lost before.
            known.filled_at = known.filled_at.max(highest);
        }
        if all_gone {
            known.proved.at(slot)
        } else {
            known.proved.broken()
        }
        known.unproved_due = true;
        drop(known);
        let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.figures.resyncs.fetch_add(1, Relaxed);
        self.figures.resync_us.fetch_add(took, Relaxed);
        tracing::debug!(slot, accounts, "applied a snapshot");
        self.listings_changed.notify_one();
        Ok(())
    }

    /// Returns its accounts, and the lowest and the highest slot of its parts.
    async fn apply_snapshot(&self, from: u64) -> Result<(AddressSet, u64, u64), SyncError> {
        let mut snapshot = self.source.snapshot(At::Confirmed, from).await?;
        let (mut seen, mut highest) = (AddressSet::default(), 0);
        loop {
            match self.next_part(&mut snapshot, from).await? {
                SnapshotItem::End { slot } => return Ok((seen.sorted(), slot, highest)),
                SnapshotItem::Page { slot, accounts } => {
                    highest = highest.max(slot);
                    let began = Instant::now();
                    self.apply_page(&self.items(slot, accounts, &mut seen)).await?;
                    if self.is_late() {
                        sleep(began.elapsed().saturating_mul(PAGES_OF_REST)).await;
                    }
                }
            }
        }
    }

    fn items(&self, slot: u64, accounts: Vec<(Pubkey, Vec<u8>)>, seen: &mut AddressSet) -> Vec<Item> {
        let mut items = Vec::with_capacity(accounts.len());
        for (address, data) in accounts.into_iter().filter(|(_, data)| has_kind(data)) {
            let item = Item::read(address, slot, data);
            if seen.is_empty() || item.is_config() {
                self.known().witnessed = Some(address);
            }
            seen.add(&address);
            items.push(item);
        }
        items
    }

    /// The next part of a snapshot. Fails if it ends without an end, or was read before `from`.
    pub(super) async fn next_part(&self, snapshot: &mut Snapshot, from: u64) -> Result<SnapshotItem, SyncError> {
        let node = self.source.name();
        let item = next_item(&node, snapshot).await?;
        let (SnapshotItem::Page { slot, .. } | SnapshotItem::End { slot }) = item;
        if slot < from {
            return Err(SourceError::Behind { node, wanted: from }.into());
        }
        self.believe(slot).await?;
        Ok(item)
    }

    /// A marketplace always has its configuration: a snapshot of nothing is an error of the node.
    async fn doubt_nothing(&self) -> Result<(), SyncError> {
        if self.settings.accept_mass_closing || mirror::open_accounts(&self.pool).await? == 0 {
            return Ok(());
        }
        Err(self.doubtful(
            "says that the program has no accounts: nothing is hidden. If that is true, set \
             `indexer.accept_mass_closing = true`",
        ))
    }

    /// Snapshots when one is due or asked for, until the database fails or the chain is another one.
    pub(super) async fn resyncs(&self) -> SyncError {
        let (mut pause, mut asked) = (MIN_PAUSE, false);
        loop {
            let begun = Instant::now();
            self.known().asked = asked;
            let resynced = self.resync().await;
            self.known().asked = false;
            match resynced {
                Ok(()) => {
                    self.resync_done();
                    pause = MIN_PAUSE;
                }
                Err(error @ (SyncError::Store(_) | SyncError::OtherGenesis(_))) => return error,
                Err(error) => {
                    self.problems.set(snapshot_code(&error), &error);
                    sleep(pause).await;
                    let most = MAX_PAUSE.min(self.settings.resync_interval).max(MIN_PAUSE);
                    pause = pause.saturating_mul(2).min(most);
                    continue;
                }
            }
            let rest = begun.elapsed().saturating_mul(REST).max(MIN_PAUSE).min(self.settings.resync_interval);
            sleep(rest).await;
            let wait = self.settings.resync_interval.saturating_sub(rest);
            asked = timeout(wait, self.resync_now.notified()).await.is_ok();
            self.while_late().await;
        }
    }

    /// A snapshot adds what the stream missed. While the stream is late, nobody knows what it missed, and a snapshot
    /// would only delay it more.
    async fn while_late(&self) {
        let began = Instant::now();
        let most = self.settings.resync_interval.saturating_mul(INTERVALS_WHILE_LATE);
        while self.is_late() && began.elapsed() < most {
            sleep(LATE_LOOK).await;
        }
    }

    fn resync_done(&self) {
        let over = ["snapshot_failed", "snapshot_incomplete", "source_unreachable", "behind", "database_unavailable"];
        self.problems.clear(&over);
        let mut known = self.known();
        if !known.caught_up {
            known.caught_up = true;
            known.heard.connected(true);
        }
    }
}

/// A snapshot that fails for any reason is shown as such.
fn snapshot_code(error: &SyncError) -> &'static str {
    match error.code() {
        code @ ("snapshot_incomplete" | "source_unreachable" | "behind" | "other_genesis_held") => code,
        _ => "snapshot_failed",
    }
}
