//! Snapshots of the confirmed state: they add what a stream missed, and find closed accounts.

use std::{sync::atomic::Ordering, time::Duration};

use crtx_chain::ProgramAccount;
use crtx_store::mirror;
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep, timeout};

use super::{apply::Item, apply::counts, error::SyncError, parts::Parts, probe::PATIENCE, seen::Seen};
use crate::source::{At, Snapshot, SnapshotItem, SourceError};

/// A snapshot whose next page takes longer failed.
pub const STALL_LIMIT: Duration = Duration::from_secs(90);
/// A snapshot that takes longer failed.
const SNAPSHOT_LIMIT: Duration = Duration::from_secs(1_800);
const MIN_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// A snapshot that was asked for waits for so many times the length of the last one.
const REST: u32 = 10;
/// A snapshot waits for a stream that is late, but not longer than so many intervals.
const INTERVALS_WHILE_LATE: u32 = 5;
/// While the stream is late, a snapshot that is under way rests for so many times the length of each page.
const PAGES_OF_REST: u32 = 4;
/// Between two looks whether the stream is still late.
const LATE_LOOK: Duration = Duration::from_millis(500);
/// How long a status says that the stream had missed changes.
const MISSED_IS_SHOWN: Duration = Duration::from_secs(60);

/// A page of a snapshot, or its end.
pub enum Part {
    Page { slot: u64, accounts: Vec<(Pubkey, Vec<u8>)> },
    End { slot: u64 },
}

/// A snapshot that was applied.
struct Shown {
    seen: Seen,
    /// The lowest and the highest slot of its parts.
    slot: u64,
    highest: u64,
    /// Accounts that the mirror showed in another state.
    changed: u64,
}

impl Parts {
    /// Takes a snapshot and applies it page by page. Returns how many accounts the mirror showed in another state.
    pub async fn resync(&self) -> Result<u64, SyncError> {
        let _one = self.one_resync.lock().await;
        let began = Instant::now();
        let genesis_hash = self.check_genesis().await?;
        if !self.slots_checked.load(Ordering::Relaxed) {
            self.take_back_slots().await?;
            self.slots_checked.store(true, Ordering::Relaxed);
        }
        let from = self.indexed();
        let snapshot = self.source.snapshot(At::Confirmed, from).await?;
        let Shown { seen, slot, highest, changed } = self.apply_snapshot(snapshot, from).await?;
        if seen.is_empty() {
            self.doubt_nothing().await?;
        }
        let accounts = seen.len();
        let all_gone = self.find_closed(seen, slot).await?;
        mirror::snapshot_applied(&self.pool, slot, &genesis_hash).await?;
        self.indexed.fetch_max(slot, Ordering::Relaxed);
        if highest > slot {
            // Parts were read at different slots. Between them nobody knows what was lost before.
            self.filled_at.fetch_max(highest, Ordering::Relaxed);
        }
        if all_gone {
            self.proved().at(slot)
        } else {
            self.proved().broken()
        }
        self.unproved_due.store(true, Ordering::Relaxed);
        self.figures.resync(began.elapsed());
        tracing::debug!(slot, accounts, changed, "applied a snapshot");
        self.listings_changed.notify_one();
        Ok(changed)
    }

    async fn apply_snapshot(&self, mut snapshot: Snapshot, from: u64) -> Result<Shown, SyncError> {
        let (mut seen, mut highest, mut changed): (Seen, u64, u64) = (Seen::default(), 0, 0);
        let until = Instant::now().checked_add(SNAPSHOT_LIMIT);
        loop {
            match self.next_part(&mut snapshot, from, until).await? {
                Part::End { slot } => return Ok(Shown { seen: seen.sorted(), slot, highest, changed }),
                Part::Page { slot, accounts } => {
                    highest = highest.max(slot);
                    let began = Instant::now();
                    let items = self.items(slot, accounts, &mut seen)?;
                    changed = changed.saturating_add(self.apply_page(&items).await?);
                    if self.pulse.heard().late() {
                        sleep(began.elapsed().saturating_mul(PAGES_OF_REST)).await;
                    }
                }
            }
        }
    }

    fn items(&self, slot: u64, accounts: Vec<(Pubkey, Vec<u8>)>, seen: &mut Seen) -> Result<Vec<Item>, SyncError> {
        let mut items = Vec::with_capacity(accounts.len());
        for (address, data) in accounts {
            if !counts(&data) {
                continue;
            }
            if seen.is_empty() || matches!(ProgramAccount::decode(&data), Ok(ProgramAccount::Config(_))) {
                self.witness_account(address);
            }
            if !seen.add(&address) {
                return Err(SyncError::Doubtful("the snapshot has more accounts than a mirror can hold".to_owned()));
            }
            items.push(Item { address, slot, data, exact: false });
        }
        Ok(items)
    }

    /// The next part of a snapshot. Fails if it takes too long, ends without an end, or was read before `from`.
    pub async fn next_part(
        &self,
        snapshot: &mut Snapshot,
        from: u64,
        until: Option<Instant>,
    ) -> Result<Part, SyncError> {
        let node = self.source.name();
        let late = |after| SourceError::TimedOut { node: self.source.name(), what: "a snapshot", after };
        if until.is_some_and(|until| Instant::now() > until) {
            return Err(late(SNAPSHOT_LIMIT).into());
        }
        let item = timeout(STALL_LIMIT, snapshot.recv()).await.map_err(|_| late(STALL_LIMIT))?;
        let (slot, part) = match item {
            None => {
                let reason = "it stopped before its end".to_owned();
                return Err(SourceError::SnapshotIncomplete { node, reason }.into());
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(SnapshotItem::Page { slot, accounts })) => (slot, Part::Page { slot, accounts }),
            Some(Ok(SnapshotItem::End { slot })) => (slot, Part::End { slot }),
        };
        if slot < from {
            return Err(SourceError::Behind { node, wanted: from }.into());
        }
        self.believe(slot).await?;
        Ok(part)
    }

    /// A marketplace always has its configuration: a snapshot of nothing is an error of the node.
    async fn doubt_nothing(&self) -> Result<(), SyncError> {
        let stored = mirror::missing(&self.pool, i64::MAX.unsigned_abs(), |_| false).await?;
        if stored.is_empty() || self.settings.accept_mass_closing {
            return Ok(());
        }
        Err(SyncError::Doubtful(format!(
            "the node at {} says that the program has no accounts: nothing is hidden. If that is true, set \
             `indexer.accept_mass_closing = true`",
            self.source.name()
        )))
    }

    /// Snapshots when one is due or asked for, until the database fails or the chain is another one.
    pub async fn resyncs(&self) -> SyncError {
        let (mut pause, mut asked) = (MIN_PAUSE, false);
        loop {
            let begun = Instant::now();
            self.asked.store(asked, Ordering::Relaxed);
            let resynced = self.resync().await;
            self.asked.store(false, Ordering::Relaxed);
            match resynced {
                Ok(_) => {
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
        while self.pulse.heard().late() && began.elapsed() < most {
            sleep(LATE_LOOK).await;
        }
    }

    fn resync_done(&self) {
        let over = ["snapshot_failed", "snapshot_incomplete", "source_unreachable", "behind", "database_unavailable"];
        self.problems.clear(&over);
        if !self.caught_up.swap(true, Ordering::Relaxed) {
            self.pulse.connected(true);
        }
    }

    /// Says so if the stream has not brought what a read showed.
    pub fn judge_stream(&self) {
        if !super::parts::lock(&self.delivered).missed(PATIENCE) {
            return;
        }
        let message = format!(
            "the stream of the node at {} did not deliver changes that its transactions made; they were read and added",
            self.source.name()
        );
        self.problems.set_for("stream_missed_changes", message, MISSED_IS_SHOWN);
    }
}

/// A snapshot that fails for any reason is shown as such.
fn snapshot_code(error: &SyncError) -> &'static str {
    match error.code() {
        code @ ("snapshot_incomplete" | "source_unreachable" | "behind" | "other_genesis_held") => code,
        _ => "snapshot_failed",
    }
}
