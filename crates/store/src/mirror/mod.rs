//! The mirror of the program's accounts. Batches of rows are written together with the checkpoint. A row is replaced
//! only by a newer revision, or by the same revision at a later slot.
//!
//! Each kind of account has a file with its row, columns and upsert. `table.rs` has what is equal for all kinds.

mod agents;
mod batch;
mod callers;
mod checkpoint;
mod closed;
mod compare;
mod config;
mod creators;
mod disputes;
mod executions;
mod grants;
mod open_amounts;
mod quarantine;
mod roll_back;
mod row;
mod table;
mod wallets;
mod write;

pub use batch::{Batch, Batched};
pub use checkpoint::{Checkpoint, checkpoint};
pub use closed::{mark_closed, missing_from};
pub use compare::{Comparison, Difference, compare};
pub use config::{ConfigRow, ParametersRow, TierRow};
pub use executions::ExecutionAccount;
pub use open_amounts::OpenAmountMismatch;
pub use roll_back::roll_back;
pub use write::{SnapshotMode, apply, apply_changes, apply_if_free, clear, resync};
