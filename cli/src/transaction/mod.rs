//! Transactions that a wallet signs itself: shown first, written down before they are sent, followed to their outcome.

mod journal;
mod plan;
mod refusal;
mod sender;

pub use self::{
    plan::{Plan, TransactionCost},
    sender::Sender,
};
