//! Keeps the mirror equal to the chain while nodes misbehave.
//!
//! Every connection begins in the same way: subscribe, take a snapshot in pages, and apply changes meanwhile. Rows are
//! ordered by revision, so pages and changes may be applied in any order. What is applied is provisional until the
//! finalized state confirms it. Regular snapshots add what a stream missed, and find closed accounts.
//!
//! [`Syncer`] is the whole; each other file has one subject.

mod apply;
mod changes;
mod closing;
mod correct;
mod doubts;
mod error;
mod fill;
mod finality;
mod genesis;
mod guard;
mod heartbeat;
mod nodes;
mod parts;
mod probe;
mod problems;
mod proved;
mod pulse;
mod resync;
mod seen;
mod session;
mod settings;
mod slots;
mod syncer;

pub use apply::{counts, push};
pub use error::SyncError;
pub use settings::SyncSettings;
pub use syncer::Syncer;
