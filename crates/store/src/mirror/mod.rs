//! The mirror of the program's accounts. Batches of rows are written together with the checkpoint. A row is replaced
//! only by a newer revision, or by other bytes of the same revision at a later slot; only a correction goes back.
//!
//! Each kind of account has a file with its columns. `row.rs` and `write.rs` have what is equal for all kinds.

mod accounts;
mod agents;
mod batch;
mod checkpoint;
mod compare;
mod config;
mod correct;
mod creators;
mod digest;
mod disputes;
mod executions;
mod grants;
mod last_state;
mod quarantine;
mod roll_back;
mod row;
mod totals;
mod write;

pub use accounts::{
    ClosedPage, Missing, OpenRow, mark_closed, missing, open_accounts, open_rows, still_open, take_back_slots,
    unproved_closed,
};
pub use batch::Batch;
pub use checkpoint::{Checkpoint, checkpoint, move_to, snapshot_applied};
pub use compare::{Comparison, Difference, Newer, compare, compare_with};
pub use correct::{Corrected, Shown, correct, rewrite, shown};
pub use digest::{
    DigestMove, DigestRow, DigestWrite, FinalState, FinalStep, advance_digest, begin_digest, digest, digest_at,
    fill_digest, final_hashes, final_hashes_after,
};
pub use executions::ExecutionAccount;
pub use last_state::{LastState, close_with};
pub use roll_back::roll_back;
pub use row::Mirrored;
pub use write::{Applied, SnapshotMode, apply, apply_changes, apply_differing, clear, resync};
