//! What the indexer of this process counts, for its operator.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Counters since the process began. Nothing is counted twice, and nothing is taken back.
#[derive(Debug, Default)]
pub struct Figures {
    events: AtomicU64,
    rows_refused: AtomicU64,
    rows_corrected: AtomicU64,
    resyncs: AtomicU64,
    resync_micros: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// What the source's stream delivered: changes, slots and signs of life.
    pub events: u64,
    /// Attempts to write a row that the database refused.
    pub rows_refused: u64,
    /// What audits found to be wrong and wrote again.
    pub rows_corrected: u64,
    /// Snapshots that were applied as a whole.
    pub resyncs: u64,
    /// The time that they took together.
    pub resync_time: Duration,
}

impl Figures {
    pub fn counted(&self) -> Counted {
        Counted {
            events: self.events.load(Ordering::Relaxed),
            rows_refused: self.rows_refused.load(Ordering::Relaxed),
            rows_corrected: self.rows_corrected.load(Ordering::Relaxed),
            resyncs: self.resyncs.load(Ordering::Relaxed),
            resync_time: Duration::from_micros(self.resync_micros.load(Ordering::Relaxed)),
        }
    }

    pub(crate) fn event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn row_refused(&self) {
        self.rows_refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rows_corrected(&self, more: u64) {
        self.rows_corrected.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn resync(&self, took: Duration) {
        self.resync_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.resyncs.fetch_add(1, Ordering::Relaxed);
    }
}
