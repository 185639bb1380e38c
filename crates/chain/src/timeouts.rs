//! How long reads of the chain may take.

use std::time::Duration;

/// Longest duration of one read, all nodes that are asked for it included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub request: Duration,
    /// Of [`program_accounts`](crate::ChainClient::program_accounts), which may be a million accounts.
    pub snapshot: Duration,
}
