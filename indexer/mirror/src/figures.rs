//! What the indexer of this process counts, for its operator.

use std::sync::atomic::AtomicU64;

/// Counted since the process began. Nothing is counted twice, and nothing is taken back.
#[derive(Debug, Default)]
pub struct Figures {
    /// What the source's stream delivered: changes, slots and signs of life.
    pub events: AtomicU64,
    /// Attempts to write a row that the database refused.
    pub rows_refused: AtomicU64,
    /// What audits found to be wrong and wrote again.
    pub rows_corrected: AtomicU64,
    /// Snapshots that were applied as a whole.
    pub resyncs: AtomicU64,
    /// The time that they took together, in microseconds.
    pub resync_us: AtomicU64,
}
