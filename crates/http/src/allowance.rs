//! How often each of many clients may do something: a burst at once, then a steady rate. The memory is bounded: clients
//! beyond a number share one allowance.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    error::{ApiError, QuotaUnit, RateLimit},
    pace::Pace,
};

/// Clients that have an allowance of their own at the same time.
const MAX_CLIENTS: usize = 10_000;
const SECOND: Duration = Duration::from_secs(1);

/// A burst, and the actions within `window` after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Name of the limit in answers: lower-case letters and hyphens.
    pub policy: &'static str,
    pub burst: u32,
    pub quota: u32,
    pub window: Duration,
}

/// The allowances of clients, in this process.
pub struct Allowances<K> {
    rate: Rate,
    clients: Mutex<HashMap<Option<K>, Pace>>,
}

impl<K: Eq + Hash> Allowances<K> {
    pub fn new(rate: Rate) -> Self {
        Self { rate, clients: Mutex::default() }
    }

    /// Takes one action of the client, or answers 429 `rate_limited`, which takes nothing. `what` is what the client does,
    /// in the plural.
    pub fn take(&self, client: K, what: &str) -> Result<(), ApiError> {
        let now = Instant::now();
        let Rate { policy, burst, quota, window } = self.rate;
        let cost = window.checked_div(quota).unwrap_or(window);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let mut client = Some(client);
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(&client) {
            clients.retain(|_, pace| !pace.is_even(now));
            if clients.len() >= MAX_CLIENTS {
                client = None;
            }
        }
        let pace = clients.entry(client).or_insert_with(|| Pace::new(now));
        let mut charged = *pace;
        charged.charge(now, cost);
        let wait = charged.wait(now, cost.saturating_mul(burst));
        if wait.is_zero() {
            *pace = charged;
            return Ok(());
        }
        let limit = RateLimit { policy, quota, unit: QuotaUnit::Within(window) };
        Err(ApiError::rate_limited(format!("too many {what}; try again later"), limit, wait.max(SECOND)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn allowances(burst: u32) -> Allowances<usize> {
        Allowances::new(Rate { policy: "tests", burst, quota: 1, window: HOUR })
    }

    #[test]
    fn each_client_has_its_own_burst_and_then_waits() {
        let allowances = allowances(2);
        let taken: Vec<_> = (0..3).map(|_| allowances.take(1, "tests").is_ok()).collect();
        assert_eq!(taken, [true, true, false]);
        let error = allowances.take(1, "tests").expect_err("refused");
        assert_eq!(error.code, crate::ErrorCode::RateLimited);
        assert!(error.retry_after.is_some_and(|after| after <= HOUR && !after.is_zero()));
        assert_eq!(allowances.take(2, "tests"), Ok(()));
    }

    #[test]
    fn clients_beyond_the_limit_share_one_allowance() {
        let allowances = allowances(2);
        for client in 0..MAX_CLIENTS {
            assert_eq!(allowances.take(client, "tests"), Ok(()));
        }
        let more: Vec<_> = (0..3).map(|client| allowances.take(MAX_CLIENTS + client, "tests").is_ok()).collect();
        assert_eq!(more, [true, true, false]);
        assert_eq!(allowances.take(0, "tests"), Ok(()), "a known client keeps its own");
        assert_eq!(allowances.clients.lock().expect("unpoisoned").len(), MAX_CLIENTS + 1);
    }
}
