//! Keeps the mirror equal to the chain while nodes misbehave.
//!
//! Every connection begins in the same way: subscribe, take a snapshot in pages, and apply changes meanwhile. Rows are
//! ordered by revision, so pages and changes may be applied in any order. What is applied is provisional until the
//! finalized state confirms it. Regular snapshots add what a stream missed, and find closed accounts.
//!
//! [`Syncer`] is the whole, with what is known of the chain (`known.rs`). While it leads (`lead.rs`), `session.rs` runs
//! five loops over one connection: the stream itself, `resync.rs`, `finality.rs`, `probe.rs` and `nodes.rs`.

mod chain;
mod changes;
mod closing;
mod correct;
mod fill;
mod finality;
mod heard;
mod heartbeat;
mod known;
mod lead;
mod look;
mod nodes;
mod probe;
mod problems;
mod resync;
mod session;
mod syncer;
mod writer;

pub use syncer::{SyncError, SyncSettings, Syncer};
pub use writer::push;
