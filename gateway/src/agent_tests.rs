//! Which tests of creators' endpoints are run. A test sends a few requests to an address that a stranger names, so tests
//! are limited by wallet, by client, by host, and in all: nobody can use this service to attack a third party.

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crtx_http::{
    ApiError, QuotaUnit, RateLimit,
    allowance::{Allowances, Rate},
    outbound::Outbound,
};
use solana_pubkey::Pubkey;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const HOUR: Duration = Duration::from_secs(3_600);
/// Tests of one wallet, of one client address, of one host, and of all of them, in one process.
const PER_WALLET: Rate = Rate { policy: "agent-tests-per-wallet", burst: 20, quota: 60, window: HOUR };
const PER_ADDRESS: Rate = Rate { policy: "agent-tests-per-address", burst: 30, quota: 120, window: HOUR };
const PER_HOST: Rate = Rate { policy: "agent-tests-per-host", burst: 20, quota: 60, window: HOUR };
const IN_ALL: Rate = Rate { policy: "agent-tests", burst: 60, quota: 600, window: HOUR };
/// Tests that this process runs at a time.
const AT_ONCE: u32 = 4;
/// When to try again while other tests are under way.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Admits tests.
pub(crate) struct AgentTests {
    pub outbound: Outbound,
    under_way: Arc<Mutex<HashSet<Pubkey>>>,
    places: Arc<Semaphore>,
    wallets: Allowances<Pubkey>,
    addresses: Allowances<Option<IpAddr>>,
    hosts: Allowances<String>,
    all: Allowances<()>,
}

/// A test that may run. Its place is free again when this is dropped.
pub(crate) struct Admitted {
    under_way: Arc<Mutex<HashSet<Pubkey>>>,
    wallet: Pubkey,
    _place: OwnedSemaphorePermit,
}

impl AgentTests {
    pub fn new(outbound: Outbound) -> Self {
        Self {
            outbound,
            under_way: Arc::default(),
            places: Arc::new(Semaphore::new(usize::try_from(AT_ONCE).unwrap_or(1))),
            wallets: Allowances::new(PER_WALLET),
            addresses: Allowances::new(PER_ADDRESS),
            hosts: Allowances::new(PER_HOST),
            all: Allowances::new(IN_ALL),
        }
    }

    /// Takes a place for a test, or answers 429. An endpoint that may not be called gets no request and needs no
    /// allowance of its host.
    pub fn admit(&self, wallet: Pubkey, client: Option<IpAddr>, endpoint: &str) -> Result<Admitted, ApiError> {
        let busy = |what: &str, policy, quota| {
            let limit = RateLimit { policy, quota, unit: QuotaUnit::Concurrent };
            ApiError::rate_limited(format!("{what}; try again when it has ended"), limit, RETRY_AFTER)
        };
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| busy("other tests are under way", "agent-tests-at-once", AT_ONCE))?;
        if !self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(wallet) {
            return Err(busy("a test of this wallet is under way", "agent-tests-at-once-per-wallet", 1));
        }
        let admitted = Admitted { under_way: Arc::clone(&self.under_way), wallet, _place: place };
        self.wallets.take(wallet, "tests of this wallet")?;
        self.addresses.take(client, "tests from this address")?;
        if let Some(host) = self.host(endpoint) {
            self.hosts.take(host, "tests of this host")?;
        }
        self.all.take((), "tests")?;
        Ok(admitted)
    }

    /// The host of a URL that may be called, in one spelling.
    fn host(&self, endpoint: &str) -> Option<String> {
        let url = self.outbound.policy().check_url(endpoint).ok()?;
        url.host_str().map(|host| host.trim_end_matches('.').to_ascii_lowercase())
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.wallet);
    }
}

#[cfg(test)]
mod tests {
    use crtx_http::{ErrorCode, outbound::OutboundPolicy};

    use super::*;

    fn wallet(number: u32) -> Pubkey {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Pubkey::new_from_array(bytes)
    }

    fn client(number: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(number.into()))
    }

    fn refused(outcome: Result<Admitted, ApiError>) -> &'static str {
        let error = outcome.err().expect("refused");
        assert_eq!(error.code, ErrorCode::RateLimited);
        assert!(error.retry_after.is_some_and(|after| !after.is_zero()));
        error.rate_limit.expect("a limit").policy
    }

    fn tests() -> AgentTests {
        AgentTests::new(Outbound::new(OutboundPolicy::STRICT))
    }

    #[test]
    fn a_wallet_runs_one_test_at_a_time_and_a_process_a_few() {
        let tests = tests();
        let test = |number| tests.admit(wallet(number), client(number), &format!("https://a{number}.example/"));
        let first = test(0).expect("free");
        assert_eq!(refused(test(0)), "agent-tests-at-once-per-wallet");
        let more: Vec<Admitted> = (1..AT_ONCE).map(|number| test(number).expect("free")).collect();
        assert_eq!(refused(test(9)), "agent-tests-at-once");
        drop(first);
        assert!(test(0).is_ok());
        drop(more);
        assert_eq!(tests.places.available_permits(), 4);
        assert!(tests.under_way.lock().expect("unpoisoned").is_empty());
    }

    #[test]
    fn tests_of_one_wallet_client_or_host_are_few_and_so_are_all_together() {
        let url = |number: u32| format!("https://a{number}.example/");
        let (by_wallet, by_client, by_host, by_all) = (tests(), tests(), tests(), tests());
        for number in 0..PER_WALLET.burst {
            assert!(by_wallet.admit(wallet(1), client(number), &url(number)).is_ok());
        }
        assert_eq!(refused(by_wallet.admit(wallet(1), client(99), &url(99))), PER_WALLET.policy);
        for number in 0..PER_ADDRESS.burst {
            assert!(by_client.admit(wallet(number), client(1), &url(number)).is_ok());
        }
        assert_eq!(refused(by_client.admit(wallet(99), client(1), &url(99))), PER_ADDRESS.policy);
        let spellings = ["https://victim.example/a", "https://VICTIM.example./b", "https://victim.example:443/?c"];
        for (number, spelling) in (0..PER_HOST.burst).zip(spellings.iter().cycle()) {
            assert!(by_host.admit(wallet(number), client(number), spelling).is_ok());
        }
        assert_eq!(refused(by_host.admit(wallet(99), client(99), spellings[1])), PER_HOST.policy);
        for number in 0..IN_ALL.burst {
            assert!(by_all.admit(wallet(number), client(number), &url(number)).is_ok());
        }
        assert_eq!(refused(by_all.admit(wallet(99), client(99), &url(99))), IN_ALL.policy);
    }
}
