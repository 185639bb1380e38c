//! The mirror of the program's accounts. Batches of rows are written together with the checkpoint. A row is replaced
//! only by a newer revision, or by other bytes of the same revision at a later slot; only a correction goes back.
//!
//! `kinds.rs` has the columns of each kind of account, `row.rs` and `write.rs` what is equal for all kinds.

mod accounts;
mod batch;
mod checkpoint;
mod compare;
mod correct;
mod digest;
mod kinds;
mod quarantine;
mod row;
mod write;

pub use accounts::{
    Missing, OpenRow, mark_closed, missing, open_accounts, open_rows, still_open, take_back_slots, unproved_closed,
};
pub use batch::Batch;
pub use checkpoint::{Checkpoint, checkpoint, move_to, snapshot_applied};
pub use compare::{Comparison, Difference, compare, compare_with};
pub use correct::{Corrected, ShownAccount, close_with, correct, rewrite, roll_back, shown};
pub use digest::{
    DigestMove, DigestRow, DigestWrite, FinalHashes, advance_digest, begin_digest, digest, digest_at, fill_digest,
    final_hashes, final_hashes_after,
};
pub use kinds::ExecutionAccount;
pub use row::Mirrored;
pub use write::{Applied, apply, apply_changes, apply_differing, clear};
