//! Changes become final, or are taken back. And the digest moves with what became final.

use std::{collections::HashMap, time::Duration};

use crtx_protocol::mirror_digest::data_hash;
use crtx_store::mirror::{self, DigestWrite};
use futures::{FutureExt, StreamExt, TryStreamExt};
use solana_pubkey::Pubkey;
use tokio::time::{Instant, timeout};

use super::{
    changes::AccountState,
    correct::shows,
    look::READ_AT_ONCE,
    probe::PATIENCE,
    syncer::{SyncError, Syncer},
};
use crate::source::{At, Read};

/// Reads of the finalized state that run at the same time.
const READS_AT_ONCE: usize = 4;
/// Without changes, the digest moves once in so many slots.
const SLOTS_PER_MOVE: u64 = 8;
/// Between two readings of all finalized accounts, in snapshots.
const RESYNCS_PER_FILL: u32 = 10;
/// Between two rounds while the stream is late.
const ROUND_WHILE_LATE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);
/// How long a status says that the stream had missed changes.
const MISSED_IS_SHOWN: Duration = Duration::from_secs(60);

/// The looks at suspected rows and at the finalized state, of one connection.
pub struct Finality<'a> {
    mirror: &'a Syncer,
    round_ended: Instant,
    /// When all finalized accounts were read last, or failed to be.
    filled: Option<Instant>,
    /// After attempts that did not fill the digest; zero after one that did.
    pause: Duration,
}

/// Accounts at the finalized state, and what the mirror shows of them.
struct FinalRead {
    addresses: Vec<Pubkey>,
    read: Read,
    /// The newest states of accounts whose rows showed them before the rows were read.
    written: HashMap<Pubkey, Option<AccountState>>,
    shown: HashMap<Pubkey, Vec<mirror::ShownAccount>>,
}

impl<'a> Finality<'a> {
    pub fn new(mirror: &'a Syncer) -> Self {
        Self { mirror, round_ended: Instant::now(), filled: None, pause: Duration::ZERO }
    }

    /// Looks in regular intervals, until the database fails.
    pub async fn run(mut self) -> SyncError {
        loop {
            drop(timeout(self.mirror.settings.finality_interval, self.mirror.look_now.notified()).await);
            if !self.mirror.known().caught_up {
                continue;
            }
            self.judge_stream();
            let proves_little = self.finalized_is_ahead() && self.round_ended.elapsed() < ROUND_WHILE_LATE;
            let looked = self.look(!proves_little).await;
            if !proves_little {
                self.round_ended = Instant::now();
            }
            match looked {
                Ok(()) => {}
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => tracing::debug!(cause = %error, "the finalized state could not be read"),
            }
        }
    }

    /// Says so if the stream has not brought what a read showed.
    fn judge_stream(&self) {
        if !self.mirror.known().delivered.missed(PATIENCE) {
            return;
        }
        let message = format!(
            "the stream of the node at {} did not deliver changes that its transactions made; they were read and added",
            self.mirror.source.name()
        );
        self.mirror.problems.set_for("stream_missed_changes", message, MISSED_IS_SHOWN);
    }

    /// Whether the stream is so late that a read of the finalized state shows changes that still wait in it. Such a read
    /// proves little, its accounts are read again, and the database is busy with the stream.
    fn finalized_is_ahead(&self) -> bool {
        let known = self.mirror.known();
        known.heard.late() && known.heard.finalized_slot.is_some_and(|finalized| finalized > known.indexed)
    }

    async fn look(&mut self, with_round: bool) -> Result<(), SyncError> {
        self.mirror.recheck_rows().await?;
        self.look_at_unproved().await?;
        let (needed, late) = {
            let known = self.mirror.known();
            (!known.filled || known.changes.overflowed, known.heard.late())
        };
        let interval = self.mirror.settings.resync_interval.saturating_mul(RESYNCS_PER_FILL);
        let pause = if needed || !self.pause.is_zero() { self.pause.min(interval) } else { interval };
        // While the stream is late, rows lack what it is about to bring.
        let due = !late && self.filled.is_none_or(|at| at.elapsed() >= pause);
        if needed && !due {
            return Ok(());
        }
        if due {
            self.filled = Some(Instant::now());
            self.pause = self.pause.saturating_mul(2).clamp(FIRST_PAUSE, LAST_PAUSE);
            self.mirror.fill().await?;
            if self.mirror.known().filled {
                self.pause = Duration::ZERO;
            }
            self.mirror.recheck_rows().await?;
        }
        if with_round { self.round().await } else { Ok(()) }
    }

    /// After each snapshot, looks at all closed rows of accounts that were never final. It does not matter when they were
    /// closed, or by which process: a process can lose what it remembers of a closing.
    async fn look_at_unproved(&self) -> Result<(), SyncError> {
        let is_due = {
            let known = self.mirror.known();
            known.filled && known.unproved_due
        };
        if !is_due {
            return Ok(());
        }
        let finalized = self.mirror.finalized_slot().await?;
        self.mirror.known().unproved_due = false;
        let mut after = String::new();
        loop {
            let page = mirror::unproved_closed(&self.mirror.pool, &after, finalized).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = last.to_string();
            let never_final = page.into_iter().filter(|(_, never_final)| *never_final).map(|(address, _)| address);
            let never_final: Vec<Pubkey> = never_final.collect();
            if !never_final.is_empty() {
                // Too many rows to recheck: the rest is found after the next snapshot.
                let all = self.mirror.known().changes.recheck(never_final);
                self.mirror.recheck_rows().await?;
                if !all {
                    return Ok(());
                }
            }
        }
    }

    /// Compares what was delivered with the finalized state, and moves the digest.
    async fn round(&self) -> Result<(), SyncError> {
        let finalized = self.mirror.finalized_slot().await?;
        let due = self.mirror.known().changes.due(finalized);
        let (slot, not_before) = self.confirm(&due, finalized).await?;
        self.mirror.recheck_rows().await?;
        let (from, target) = {
            let known = self.mirror.known();
            let Some((from, target)) = known.proved.up_to(slot) else { return Ok(()) };
            // A suspected account may have changed, and nobody knows when.
            let unsure = known.changes.overflowed || !known.changes.rows_to_recheck.is_empty();
            if target < not_before.max(known.filled_at) || unsure || !known.filled {
                return Ok(());
            }
            (from, target)
        };
        self.move_digest(from, target).await
    }

    /// Reads accounts at the finalized state. What differs from what was delivered is suspected, and so are rows that
    /// do not show what was delivered and written last.
    ///
    /// A read later than the indexed slot may show changes that still wait in the stream: what differs then proves
    /// nothing, and is read again.
    ///
    /// Returns the slot that every read has reached, and the earliest that the digest can show.
    async fn confirm(&self, due: &[Pubkey], finalized: u64) -> Result<(u64, u64), SyncError> {
        let asked = due.chunks(READ_AT_ONCE).map(|addresses| self.read_final(addresses.to_vec(), finalized).boxed());
        let reads: Vec<FinalRead> =
            futures::stream::iter(asked.collect::<Vec<_>>()).buffered(READS_AT_ONCE).try_collect().await?;
        let slot = reads.iter().map(|found| found.read.slot).min().unwrap_or(finalized);
        let mut not_before = 0;
        let mut guard = self.mirror.known();
        let known = &mut *guard;
        for FinalRead { addresses, read, written, shown } in reads {
            let ahead = read.slot > known.indexed;
            for (address, account) in addresses.iter().zip(&read.value) {
                let hash = account.as_ref().map(|account| data_hash(&account.data));
                let changes = &mut known.changes;
                // One node proves nothing while the nodes contradict each other.
                if ahead && !changes.had(address, read.slot, hash) || known.doubts.get(address) == Some(&true) {
                    continue;
                }
                let newest = changes.newest(address);
                let settled = written.get(address) == Some(&newest);
                // Its row is being written. A later state is compared with its row once it is final.
                if !settled && newest.is_none_or(|newest| newest.confirmed || newest.slot <= read.slot) {
                    continue;
                }
                let confirmed = changes.confirm(address, read.slot, hash);
                not_before = confirmed.not_before.max(not_before);
                let newest = changes.newest(address).and_then(|state| state.data_hash);
                // A closed row of an account that is gone may be one whose opening was dropped.
                let may_be_dropped = newest.is_none() && shown.contains_key(address);
                if confirmed.differs || settled && (!shows(&shown, address, newest) || may_be_dropped) {
                    changes.recheck([*address]);
                }
            }
        }
        Ok((slot, not_before))
    }

    async fn read_final(&self, addresses: Vec<Pubkey>, finalized: u64) -> Result<FinalRead, SyncError> {
        let Self { mirror, .. } = self;
        let read = mirror.read_doubted(mirror.source.as_ref(), &addresses, At::Finalized, finalized).await?;
        let written = mirror.known().changes.written(&addresses);
        let shown = mirror::shown(&mirror.pool, &addresses).await?;
        Ok(FinalRead { addresses, read, written, shown })
    }

    /// Moves the digest to `target`. Every change after `from` up to there was delivered.
    async fn move_digest(&self, from: u64, target: u64) -> Result<(), SyncError> {
        let Syncer { pool, id, .. } = self.mirror;
        let shown = mirror::digest(pool).await?.map(|digest| digest.slot);
        if shown.is_some_and(|shown| shown > target) {
            return Ok(());
        }
        let Some(mut moved) = self.mirror.known().changes.up_to(target, shown) else { return Ok(()) };
        let continues = shown.is_some_and(|shown| shown >= from);
        let near = shown.is_some_and(|shown| shown.saturating_add(SLOTS_PER_MOVE) > target);
        if shown == Some(target) || moved.steps.is_empty() && continues && near {
            return Ok(());
        }
        moved.exact &= continues;
        match mirror::advance_digest(pool, *id, &moved).await? {
            DigestWrite::Done => self.mirror.known().changes.settle(target),
            DigestWrite::Elsewhere => {}
            DigestWrite::Taken => self.mirror.known().filled = false,
        }
        Ok(())
    }
}
