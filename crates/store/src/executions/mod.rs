//! The gateway's durable executions: the request, the state, every transaction signed for it, and the answer. A worker
//! holds a lease while it works on an execution. Every step names that lease and the state that it comes from, so two
//! workers can never both take it.
//!
//! A step does not wait for the disk if the chain or the creator can repeat what it notes (`synchronous_commit` is
//! off for it). A signed transaction is durable before it is sent, and that commit also makes everything durable
//! that was written before it, such as the reservation and the result.

mod content;
mod leases;
mod rows;
mod transactions;
mod transitions;
mod types;

pub use leases::{ClaimedLease, Executions};
pub use transactions::{Landing, StoredTransaction, TransactionKind};
pub use transitions::ExecutionsError;
pub use types::{
    Call, CallRequest, Charged, Delivered, Failure, Lease, REFUNDED, Reported, SettledElsewhere, State, StoredExecution,
};
