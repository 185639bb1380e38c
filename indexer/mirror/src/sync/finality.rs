//! Changes become final, or are taken back. And the digest moves with what became final.

use std::{collections::HashMap, sync::atomic::Ordering, time::Duration};

use crtx_store::mirror::{self, DigestMove, DigestWrite};
use futures::{FutureExt, StreamExt, TryStreamExt};
use solana_pubkey::Pubkey;
use tokio::time::{Instant, timeout};

use super::{
    changes::State,
    correct::{hash_of, shows},
    error::SyncError,
    parts::{Parts, READ_AT_ONCE, lock},
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

/// When all finalized accounts are read again.
struct FillTimes {
    due: Instant,
    /// The same, if they have to be read.
    retry: Instant,
    /// After the next attempt.
    pause: Duration,
}

/// What one look at the finalized state found.
struct Looked {
    /// Every account was read at this slot or later.
    slot: u64,
    /// The digest cannot show an earlier slot.
    not_before: u64,
}

/// Accounts at the finalized state, and what the mirror shows of them.
struct FinalRead {
    addresses: Vec<Pubkey>,
    read: Read,
    /// The newest states of accounts whose rows showed them before the rows were read.
    written: HashMap<Pubkey, Option<State>>,
    shown: HashMap<Pubkey, Vec<mirror::Shown>>,
}

impl Parts {
    /// Looks at suspected rows and at the finalized state in regular intervals, until the database fails.
    pub async fn finality(&self) -> SyncError {
        let mut times = FillTimes { due: Instant::now(), retry: Instant::now(), pause: FIRST_PAUSE };
        let mut round_ended = Instant::now();
        loop {
            drop(timeout(self.settings.finality_interval, self.look_now.notified()).await);
            if !self.caught_up.load(Ordering::Relaxed) {
                continue;
            }
            self.judge_stream();
            let proves_little = self.finalized_is_ahead() && round_ended.elapsed() < ROUND_WHILE_LATE;
            let looked = self.look(&mut times, !proves_little).await;
            if !proves_little {
                round_ended = Instant::now();
            }
            match looked {
                Ok(()) => {}
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => tracing::debug!(cause = %error, "the finalized state could not be read"),
            }
        }
    }

    /// Whether the stream is so late that a read of the finalized state shows changes that still wait in it. Such a read
    /// proves little, its accounts are read again, and the database is busy with the stream.
    fn finalized_is_ahead(&self) -> bool {
        let heard = self.pulse.heard();
        heard.late() && heard.finalized_slot.is_some_and(|finalized| finalized > self.indexed())
    }

    async fn look(&self, times: &mut FillTimes, with_round: bool) -> Result<(), SyncError> {
        self.look_at_suspects().await?;
        self.look_at_unproved().await?;
        let needed = !self.filled.load(Ordering::Relaxed) || self.changes().overflowed();
        // While the stream is late, rows lack what it is about to bring.
        let at = if needed { times.retry.min(times.due) } else { times.due };
        let due = at <= Instant::now() && !self.pulse.heard().late();
        if needed && !due {
            return Ok(());
        }
        if due {
            let later = |time: Duration| Instant::now().checked_add(time).unwrap_or_else(Instant::now);
            // If the attempt fails, the next one is later.
            times.due = later(times.pause);
            times.retry = times.due;
            times.pause = times.pause.saturating_mul(2).min(LAST_PAUSE);
            self.fill().await?;
            if self.filled.load(Ordering::Relaxed) {
                times.pause = FIRST_PAUSE;
            }
            times.due = later(self.settings.resync_interval.saturating_mul(RESYNCS_PER_FILL));
            self.look_at_suspects().await?;
        }
        if with_round { self.round().await } else { Ok(()) }
    }

    /// After each snapshot, looks at all closed rows of accounts that were never final. It does not matter when they were
    /// closed, or by which process: a process can lose what it remembers of a closing.
    async fn look_at_unproved(&self) -> Result<(), SyncError> {
        if !self.filled.load(Ordering::Relaxed) || !self.unproved_due.load(Ordering::Relaxed) {
            return Ok(());
        }
        let finalized = self.finalized_slot().await?;
        self.unproved_due.store(false, Ordering::Relaxed);
        let mut after = String::new();
        loop {
            let page = mirror::unproved_closed(&self.pool, &after, finalized).await?;
            let Some(last) = page.last else { return Ok(()) };
            after = last;
            if !page.never_final.is_empty() {
                // Too many suspects: the rest is found after the next snapshot.
                let all = self.changes().suspect(page.never_final);
                self.look_at_suspects().await?;
                if !all {
                    return Ok(());
                }
            }
        }
    }

    /// Compares what was delivered with the finalized state, and moves the digest.
    pub async fn round(&self) -> Result<(), SyncError> {
        let finalized = self.finalized_slot().await?;
        let due = self.changes().due(finalized);
        let looked = self.confirm(&due, finalized).await?;
        self.look_at_suspects().await?;
        let Some((from, target)) = self.proved().up_to(looked.slot) else { return Ok(()) };
        let not_before = looked.not_before.max(self.filled_at.load(Ordering::Relaxed));
        // A suspected account may have changed, and nobody knows when.
        let unsure = {
            let changes = self.changes();
            changes.overflowed() || changes.has_suspects()
        };
        if target < not_before || unsure || !self.filled.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.move_digest(from, target).await
    }

    /// Reads accounts at the finalized state. What differs from what was delivered is suspected, and so are rows that
    /// do not show what was delivered and written last.
    ///
    /// A read later than the indexed slot may show changes that still wait in the stream: what differs then proves
    /// nothing, and is read again.
    async fn confirm(&self, due: &[Pubkey], finalized: u64) -> Result<Looked, SyncError> {
        let mut looked = Looked { slot: finalized, not_before: 0 };
        let chunks: Vec<Vec<Pubkey>> = due.chunks(READ_AT_ONCE).map(<[Pubkey]>::to_vec).collect();
        let mut waiting = Vec::with_capacity(chunks.len());
        for addresses in chunks {
            waiting.push(self.read_final(addresses, finalized).boxed());
        }
        let reads: Vec<FinalRead> = futures::stream::iter(waiting).buffered(READS_AT_ONCE).try_collect().await?;
        if let Some(slot) = reads.iter().map(|found| found.read.slot).min() {
            looked.slot = slot;
        }
        let mut changes = self.changes();
        for FinalRead { addresses, read, written, shown } in reads {
            let ahead = read.slot > self.indexed();
            for (address, account) in addresses.iter().zip(&read.accounts) {
                let hash = hash_of(account.as_ref().map(|account| account.data.as_slice()));
                // What the nodes contradict each other about is not proved by one of them.
                if ahead && !changes.had(address, read.slot, hash) || lock(&self.doubts).has(address) {
                    continue;
                }
                let settled = written.get(address) == Some(&changes.newest(address));
                let confirmed = changes.confirm(address, read.slot, hash);
                changes.look_at_row(*address, !settled);
                looked.not_before = looked.not_before.max(confirmed.not_before);
                let newest = changes.newest(address).and_then(|state| state.data_hash);
                let wrong = !shows(&shown, address, newest) || never_existed(&shown, address, newest);
                if confirmed.differs || settled && wrong {
                    changes.suspect([*address]);
                }
            }
        }
        Ok(looked)
    }

    async fn read_final(&self, addresses: Vec<Pubkey>, finalized: u64) -> Result<FinalRead, SyncError> {
        let read = self.read_doubted(self.source.as_ref(), &addresses, At::Finalized, finalized).await?;
        let written = self.changes().written(&addresses);
        let shown = mirror::shown(&self.pool, &addresses).await?;
        Ok(FinalRead { addresses, read, written, shown })
    }

    /// Moves the digest to `target`. Every change after `from` up to there was delivered.
    async fn move_digest(&self, from: u64, target: u64) -> Result<(), SyncError> {
        let shown = mirror::digest(&self.pool).await?.map(|digest| digest.slot);
        if shown.is_some_and(|shown| shown > target) {
            return Ok(());
        }
        let Some(taken) = self.changes().up_to(target, shown) else { return Ok(()) };
        let continues = shown.is_some_and(|shown| shown >= from);
        let near = shown.is_some_and(|shown| shown.saturating_add(SLOTS_PER_MOVE) > target);
        if shown == Some(target) || taken.steps.is_empty() && continues && near {
            return Ok(());
        }
        let exact = continues && taken.exact;
        let moved = DigestMove { from: shown, to: target, steps: taken.steps.clone(), exact };
        match mirror::advance_digest(&self.pool, self.id, &moved).await? {
            DigestWrite::Done => self.changes().settle(&taken),
            DigestWrite::Elsewhere => {}
            DigestWrite::Taken => self.filled.store(false, Ordering::Relaxed),
        }
        Ok(())
    }
}

/// A closed row of an account that is gone may be one whose opening was dropped.
fn never_existed(shown: &HashMap<Pubkey, Vec<mirror::Shown>>, address: &Pubkey, newest: Option<[u8; 32]>) -> bool {
    newest.is_none() && shown.contains_key(address)
}
