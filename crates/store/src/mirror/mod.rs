//! The mirror of the program's accounts. Batches of rows are written together with the checkpoint. A row is replaced
//! only by a newer revision, or by other bytes of the same revision at a later slot; only a correction goes back.
//!
//! Each kind of account has a file with its row, columns and upsert. `table.rs` has what is equal for all kinds.

mod agents;
mod batch;
mod callers;
mod checkpoint;
mod closed;
mod compare;
mod config;
mod correct;
mod creators;
mod digest;
mod disputes;
mod executions;
mod final_hashes;
mod grants;
mod last_state;
mod open_amounts;
mod open_rows;
mod quarantine;
mod roll_back;
mod row;
mod table;
mod take_back_slots;
mod unproved;
mod wallets;
mod write;

pub use batch::{Batch, Batched};
pub use checkpoint::{Checkpoint, checkpoint, move_to, snapshot_applied};
pub use closed::{Missing, mark_closed, missing, open_accounts};
pub use compare::{Comparison, Difference, Newer, compare, compare_with};
pub use config::{ConfigRow, ParametersRow, TierRow};
pub use correct::{Corrected, Shown, correct, rewrite, shown};
pub use digest::{
    DigestMove, DigestRow, DigestWrite, FinalState, FinalStep, advance_digest, begin_digest, digest, digest_at,
    fill_digest, final_accounts_after, final_hashes,
};
pub use executions::ExecutionAccount;
pub use final_hashes::final_hashes_after;
pub use last_state::{LastState, close_with};
pub use open_amounts::OpenAmountMismatch;
pub use open_rows::{OpenRow, open_rows, still_open};
pub use roll_back::roll_back;
pub use take_back_slots::take_back_slots;
pub use unproved::{ClosedPage, unproved_closed};
pub use write::{Applied, SnapshotMode, apply, apply_changes, apply_differing, clear, resync};
