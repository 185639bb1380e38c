//! Limits how many calls this process works on. Beyond the limit there is a short queue, and then an immediate 503,
//! so that accepted calls stay fast.
//!
//! A wallet or an agent may have at most [`SHARE`] times as many calls as there are free places. One wallet therefore
//! takes at most four fifths of the places, several take a little more, and a place stays free for the next one,
//! however long the other calls take.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crtx_http::{ApiError, ErrorCode};
use solana_pubkey::Pubkey;
use tokio::sync::Notify;

use crate::config::ProcessLimits;

const SHARE: u32 = 4;
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) struct Gate {
    limits: ProcessLimits,
    places: Arc<Places>,
}

#[derive(Default)]
struct Places {
    held: Mutex<Held>,
    freed: Notify,
}

/// These maps have at most one entry per call.
#[derive(Default)]
struct Held {
    calls: u32,
    waiting: u32,
    by_wallet: HashMap<Pubkey, u32>,
    by_agent: HashMap<Pubkey, u32>,
}

/// The place of one call. Dropping it frees the place.
pub(crate) struct Place {
    places: Arc<Places>,
    wallet: Pubkey,
    agent: Pubkey,
}

/// The place of one call in the queue.
struct Waiting<'a>(&'a Places);

impl Gate {
    pub fn new(limits: ProcessLimits) -> Self {
        Self { limits, places: Arc::default() }
    }

    /// Waits for a place for a call of `wallet` to `agent`. Returns 503 `unavailable` if none is free in time.
    pub async fn enter(&self, wallet: &Pubkey, agent: &Pubkey) -> Result<Place, ApiError> {
        if let Some(place) = self.try_enter(wallet, agent) {
            return Ok(place);
        }
        let Some(_waiting) = self.queue() else { return Err(full()) };
        let turn = async {
            loop {
                let freed = self.places.freed.notified();
                if let Some(place) = self.try_enter(wallet, agent) {
                    return place;
                }
                freed.await;
            }
        };
        tokio::time::timeout(self.limits.queue_patience, turn).await.map_err(|_| full())
    }

    /// Returns whether half of the places are free.
    pub fn has_room(&self) -> bool {
        self.places.lock().calls < self.limits.calls / 2
    }

    fn try_enter(&self, wallet: &Pubkey, agent: &Pubkey) -> Option<Place> {
        let mut held = self.places.lock();
        let free = self.limits.calls.saturating_sub(held.calls);
        let share = free.saturating_mul(SHARE);
        let count = |of: &HashMap<Pubkey, u32>, who: &Pubkey| of.get(who).copied().unwrap_or(0);
        if free == 0 || count(&held.by_wallet, wallet) >= share || count(&held.by_agent, agent) >= share {
            return None;
        }
        held.calls = held.calls.saturating_add(1);
        add(&mut held.by_wallet, wallet);
        add(&mut held.by_agent, agent);
        Some(Place { places: Arc::clone(&self.places), wallet: *wallet, agent: *agent })
    }

    fn queue(&self) -> Option<Waiting<'_>> {
        let mut held = self.places.lock();
        (held.waiting < self.limits.queue).then(|| {
            held.waiting = held.waiting.saturating_add(1);
            Waiting(&self.places)
        })
    }
}

fn full() -> ApiError {
    let message = "the service works on as many calls as it can; nothing was charged, try again";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER)
}

impl Places {
    /// A panic cannot leave the counts half changed, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.lock();
        held.calls = held.calls.saturating_sub(1);
        remove(&mut held.by_wallet, &self.wallet);
        remove(&mut held.by_agent, &self.agent);
        drop(held);
        self.places.freed.notify_waiters();
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut held = self.0.lock();
        held.waiting = held.waiting.saturating_sub(1);
    }
}

fn add(counts: &mut HashMap<Pubkey, u32>, who: &Pubkey) {
    let count = counts.entry(*who).or_default();
    *count = count.saturating_add(1);
}

fn remove(counts: &mut HashMap<Pubkey, u32>, who: &Pubkey) {
    if let Some(count) = counts.get_mut(who) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: Pubkey = Pubkey::new_from_array([200; 32]);

    fn gate(calls: u32, queue: u32) -> Gate {
        Gate::new(ProcessLimits { calls, queue, queue_patience: Duration::from_millis(50) })
    }

    fn who(number: u8) -> Pubkey {
        Pubkey::new_from_array([number; 32])
    }

    #[tokio::test]
    async fn one_wallet_or_agent_never_takes_the_last_place() {
        let gate = gate(100, 0);
        let mut places = Vec::new();
        while let Ok(place) = gate.enter(&who(1), &who(101)).await {
            places.push(place);
        }
        assert_eq!(places.len(), 80);
        while let Ok(place) = gate.enter(&who(2), &who(102)).await {
            places.push(place);
        }
        assert!(gate.enter(&who(3), &who(101)).await.is_err(), "the agent has its share");
        assert!(gate.enter(&who(1), &who(103)).await.is_err(), "the wallet has its share");
        assert!(gate.enter(&who(3), &who(103)).await.is_ok(), "another wallet and agent get a place");
    }

    #[tokio::test]
    async fn beyond_places_and_queue_the_answer_is_503_at_once_with_retry_after() {
        let gate = Arc::new(gate(1, 1));
        let place = gate.enter(&who(1), &AGENT).await.expect("a place");
        let second = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter(&who(2), &who(2)).await.map(drop) }
        });
        while gate.places.lock().waiting == 0 {
            tokio::task::yield_now().await;
        }
        let refused = gate.enter(&who(3), &AGENT).await.map(drop).expect_err("full");
        assert_eq!((refused.code, refused.retry_after), (ErrorCode::Unavailable, Some(RETRY_AFTER)));
        drop(place);
        assert_eq!(second.await.expect("joined"), Ok(()), "the waiting call gets the place that becomes free");
    }

    #[tokio::test]
    async fn no_call_waits_longer_than_the_queues_patience_and_its_place_in_the_queue_is_freed() {
        let gate = gate(1, 8);
        let place = gate.enter(&who(1), &AGENT).await.expect("a place");
        assert!(gate.enter(&who(2), &AGENT).await.is_err());
        drop(place);
        let held = gate.places.lock();
        assert_eq!((held.calls, held.waiting, held.by_wallet.len(), held.by_agent.len()), (0, 0, 0, 0));
    }
}
