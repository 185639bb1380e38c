//! Measures where a call spends its time.

use std::time::{Duration, Instant};

/// The time that a call waits for the creator and for the chain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeSpent {
    pub chain: Duration,
    pub creator: Duration,
}

impl TimeSpent {
    pub fn add(&mut self, other: Self) {
        self.chain = self.chain.saturating_add(other.chain);
        self.creator = self.creator.saturating_add(other.creator);
    }

    /// Adds the time of `work` to the time of the chain.
    pub async fn on_chain<T>(&mut self, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let value = work.await;
        self.chain = self.chain.saturating_add(started.elapsed());
        value
    }
}
