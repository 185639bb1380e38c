//! How often each of many clients may do something: a burst at once, then a steady rate. The memory is bounded: clients
//! beyond a number share one allowance.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    error::{ApiError, QuotaUnit, RateLimit},
    token_bucket::TokenBucket,
};

/// Clients that have an allowance of their own at the same time.
const MAX_CLIENTS: usize = 10_000;
const SECOND: Duration = Duration::from_secs(1);
/// How many IPv6 networks (/64) of one site (/48) can use their whole allowance at a time.
const NETWORKS_OF_A_SITE: u32 = 4;

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
    clients: Mutex<Clients<K>>,
}

struct Clients<K> {
    buckets: HashMap<Option<K>, TokenBucket>,
    /// When those who have taken nothing for long were last forgotten: it looks at all of them.
    tidied: Option<Instant>,
}

impl<K: Eq + Hash> Allowances<K> {
    pub fn new(rate: Rate) -> Self {
        Self { rate, clients: Mutex::new(Clients { buckets: HashMap::new(), tidied: None }) }
    }

    /// Takes one action of the client, or answers 429 `rate_limited`, which takes nothing. `what` is what the client does,
    /// in the plural.
    pub fn take(&self, client: K, what: &str) -> Result<(), ApiError> {
        self.ask(client, what, true)
    }

    /// Whether the client could take one action now. Takes nothing.
    pub fn check(&self, client: K, what: &str) -> Result<(), ApiError> {
        self.ask(client, what, false)
    }

    /// Takes so many actions of the client, which have happened already. Later ones wait for them.
    pub fn charge(&self, client: K, actions: u32) {
        let now = Instant::now();
        let mut clients = self.clients.lock();
        clients.bucket(client, now).charge(now, self.cost().saturating_mul(actions));
    }

    /// Takes one action of the client, which has happened already, and returns how long it has to wait now: at most
    /// `longest`. Actions beyond that are not counted, so nobody waits for long after the last of them.
    pub fn delay(&self, client: K, longest: Duration) -> Duration {
        let now = Instant::now();
        let cost = self.cost();
        let burst = cost.saturating_mul(self.rate.burst);
        let mut clients = self.clients.lock();
        let bucket = clients.bucket(client, now);
        if bucket.wait(now, burst) < longest {
            bucket.charge(now, cost);
        }
        bucket.wait(now, burst).min(longest)
    }

    fn ask(&self, client: K, what: &str, takes: bool) -> Result<(), ApiError> {
        let now = Instant::now();
        let Rate { policy, burst, quota, window } = self.rate;
        let cost = self.cost();
        let mut clients = self.clients.lock();
        let bucket = clients.bucket(client, now);
        let mut charged = *bucket;
        charged.charge(now, cost);
        let wait = charged.wait(now, cost.saturating_mul(burst));
        if wait.is_zero() {
            if takes {
                *bucket = charged;
            }
            return Ok(());
        }
        let limit = RateLimit { policy, quota, unit: QuotaUnit::Within(window) };
        Err(ApiError::rate_limited(format!("too many {what}; try again later"), limit, wait.max(SECOND)))
    }

    /// The client's time for one action.
    fn cost(&self) -> Duration {
        self.rate.window.checked_div(self.rate.quota).unwrap_or(self.rate.window)
    }
}

impl<K: Eq + Hash> Clients<K> {
    fn bucket(&mut self, client: K, now: Instant) -> &mut TokenBucket {
        let mut client = Some(client);
        if self.is_full() && !self.buckets.contains_key(&client) {
            if self.tidied.is_none_or(|tidied| now.saturating_duration_since(tidied) >= SECOND) {
                self.tidied = Some(now);
                self.buckets.retain(|_, bucket| !bucket.is_even(now));
            }
            if self.is_full() {
                client = None;
            }
        }
        self.buckets.entry(client).or_insert_with(|| TokenBucket::new(now))
    }

    fn is_full(&self) -> bool {
        self.buckets.len() >= MAX_CLIENTS
    }
}

/// Allowances of client addresses. All networks of an IPv6 site, which has 65 536 of them, have four allowances together:
/// otherwise one site would use up those of everybody who is not known yet.
pub struct AddressAllowances {
    networks: Allowances<Option<IpAddr>>,
    sites: Allowances<Ipv6Addr>,
}

impl AddressAllowances {
    pub fn new(rate: Rate) -> Self {
        let of_site = |number: u32| number.saturating_mul(NETWORKS_OF_A_SITE);
        let sites = Rate { burst: of_site(rate.burst), quota: of_site(rate.quota), ..rate };
        Self { networks: Allowances::new(rate), sites: Allowances::new(sites) }
    }

    /// As [`Allowances::take`], of the client's address.
    pub fn take(&self, client: Option<IpAddr>, what: &str) -> Result<(), ApiError> {
        let site = client.and_then(site_of);
        if let Some(site) = site {
            self.sites.check(site, what)?;
        }
        self.networks.take(client, what)?;
        if let Some(site) = site {
            self.sites.charge(site, 1);
        }
        Ok(())
    }
}

/// The /48 of an IPv6 address: what one site gets.
fn site_of(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V6(address) => Some(Ipv6Addr::from(u128::from(address) >> 80 << 80)),
        IpAddr::V4(_) => None,
    }
}

/// The address, or with IPv6 the site that it belongs to.
pub fn holder_of(address: IpAddr) -> IpAddr {
    site_of(address).map_or(address, IpAddr::V6)
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
        assert_eq!(allowances.clients.lock().buckets.len(), MAX_CLIENTS + 1);
    }

    #[test]
    fn a_look_takes_nothing_and_what_has_happened_is_charged_beyond_the_burst() {
        let allowances = allowances(2);
        for _ in 0..5 {
            assert_eq!(allowances.check(1, "tests"), Ok(()));
        }
        allowances.charge(1, 3);
        let error = allowances.check(1, "tests").expect_err("nothing is left");
        assert!(error.retry_after.is_some_and(|after| after > HOUR && after <= HOUR * 2), "{:?}", error.retry_after);
        assert_eq!(allowances.take(2, "tests"), Ok(()));
    }

    #[test]
    fn what_has_happened_waits_beyond_the_burst_and_never_longer_than_the_longest_wait() {
        let allowances = allowances(2);
        let hours = |client| allowances.delay(client, HOUR * 3).as_secs_f64() / 3_600.0;
        let waits: Vec<_> = (0..1_000).map(|_| hours(1).round()).collect();
        assert_eq!(waits[..6], [0.0, 0.0, 1.0, 2.0, 3.0, 3.0]);
        assert!(waits[6..].iter().all(|wait| *wait == 3.0));
        assert_eq!(hours(2), 0.0, "another client has a burst of its own");
    }

    #[test]
    fn the_networks_of_one_ipv6_site_do_not_use_up_what_others_have() {
        let allowances = AddressAllowances::new(Rate { policy: "tests", burst: 2, quota: 1, window: HOUR });
        let network = |number: u32| Some(IpAddr::V6((0x2001_0db8_0001_u128 << 80 | u128::from(number) << 64).into()));
        let taken = (0..50_000).filter(|number| allowances.take(network(*number), "tests").is_ok()).count();
        assert_eq!(taken, 8);
        for other in ["2001:db8:2::", "192.0.2.1"] {
            assert_eq!(allowances.take(Some(other.parse().expect("address")), "tests"), Ok(()), "{other}");
        }
        // A network that has used up its own leaves the rest to its neighbours.
        let site = |number: u32| Some(IpAddr::V6((0x2001_0db8_0003_u128 << 80 | u128::from(number) << 64).into()));
        let greedy = (0..100).filter(|_| allowances.take(site(1), "tests").is_ok()).count();
        assert_eq!((greedy, allowances.take(site(2), "tests")), (2, Ok(())));
    }
}
