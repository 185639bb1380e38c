//! Time limits of reads of the chain.

use std::time::Duration;

/// Longest duration of one read, including all nodes that are asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub request: Duration,
    /// For [`program_accounts`](crate::ChainClient::program_accounts), which may return a million accounts.
    pub snapshot: Duration,
}
