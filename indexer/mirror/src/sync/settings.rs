//! Settings of the mirror.

use std::time::Duration;

/// How often the mirror compares, and what its operator allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncSettings {
    /// Between snapshots.
    pub resync_interval: Duration,
    /// Between looks at the finalized state.
    pub finality_interval: Duration,
    /// Between questions for new transactions.
    pub probe_interval: Duration,
    /// Before a second look at something that would hide much.
    pub second_look_after: Duration,
    /// Hide accounts that the chain does not have, however many they are.
    pub accept_mass_closing: bool,
    /// Replace the mirror if the node belongs to another chain.
    pub accept_new_genesis: bool,
}

impl SyncSettings {
    pub const fn new(resync_interval: Duration) -> Self {
        Self {
            resync_interval,
            finality_interval: Duration::from_secs(1),
            probe_interval: Duration::from_secs(1),
            second_look_after: Duration::from_secs(3),
            accept_mass_closing: false,
            accept_new_genesis: false,
        }
    }
}
