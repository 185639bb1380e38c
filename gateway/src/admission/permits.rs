//! How much each of several holders has under way, such as a wallet and an agent. Who has as much as it may have is refused,
//! or waits until something has ended.

use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

/// The permits of all holders.
pub(crate) struct Permits<K>(Arc<PermitCounts<K>>);

struct PermitCounts<K> {
    /// Only of holders that have some.
    held: Mutex<HashMap<K, u32>>,
    freed: Notify,
}

/// One permit of each of its holders. Dropping it frees them.
pub(crate) struct Permit<K: Eq + Hash> {
    counts: Arc<PermitCounts<K>>,
    pub holders: Vec<K>,
}

impl<K> Default for Permits<K> {
    fn default() -> Self {
        Self(Arc::new(PermitCounts { held: Mutex::default(), freed: Notify::new() }))
    }
}

impl<K: Clone + Eq + Hash> Permits<K> {
    pub fn count(&self, holder: &K) -> u32 {
        self.0.held.lock().get(holder).copied().unwrap_or_default()
    }

    /// Takes a permit of each holder, or none: then it returns a holder that has as many as it may have. `most` says how
    /// many, and may look at what all of them have.
    pub fn take(&self, holders: Vec<K>, most: impl Fn(&K, &HashMap<K, u32>) -> u32) -> Result<Permit<K>, K> {
        let mut held = self.0.held.lock();
        let is_full = |holder: &&K| held.get(*holder).copied().unwrap_or_default() >= most(holder, &held);
        if let Some(full) = holders.iter().find(is_full) {
            return Err(full.clone());
        }
        for holder in &holders {
            let count = held.entry(holder.clone()).or_default();
            *count = count.saturating_add(1);
        }
        Ok(Permit { counts: Arc::clone(&self.0), holders })
    }

    /// The same, and waits for such permits for at most so long.
    pub async fn wait(
        &self,
        patience: Duration,
        holders: Vec<K>,
        most: impl Fn(&K, &HashMap<K, u32>) -> u32,
    ) -> Result<Permit<K>, K> {
        let deadline = Instant::now().checked_add(patience).unwrap_or_else(Instant::now);
        loop {
            let freed = self.0.freed.notified();
            match self.take(holders.clone(), &most) {
                Err(full) if timeout_at(deadline, freed).await.is_err() => return Err(full),
                Err(_) => {}
                taken => return taken,
            }
        }
    }
}

impl<K: Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut held = self.counts.held.lock();
        for holder in &self.holders {
            if let Some(count) = held.get_mut(holder) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    held.remove(holder);
                }
            }
        }
        drop(held);
        self.counts.freed.notify_waiters();
    }
}
