//! What the indexer of this process counts, for its operator.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Counted since the process began. Nothing is counted twice, and nothing is taken back.
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

/// The counters of one process.
#[derive(Debug, Default)]
pub struct Figures(Mutex<Counted>);

impl Figures {
    pub fn counted(&self) -> Counted {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, more: Counted) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.events = counted.events.saturating_add(more.events);
        counted.rows_refused = counted.rows_refused.saturating_add(more.rows_refused);
        counted.rows_corrected = counted.rows_corrected.saturating_add(more.rows_corrected);
        counted.resyncs = counted.resyncs.saturating_add(more.resyncs);
        counted.resync_time = counted.resync_time.saturating_add(more.resync_time);
    }
}
