//! Closed accounts: what their last bytes were, from the transactions that closed them.

pub mod event;
pub mod search;
