//! Which tests of creators' endpoints are run. A test sends a few requests to an address that a stranger names, so tests
//! are limited by wallet, by client, by host, and in all: nobody can use this service to attack a third party. Tests that
//! wait for their endpoint keep a place, so their time is limited too.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_http::{
    ApiError, QuotaUnit, RateLimit,
    allowance::{Allowances, Rate},
    outbound::Outbound,
};
use solana_pubkey::Pubkey;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::admission::turns::{Policies, Turn, TurnSubject, Turns};

const HOUR: Duration = Duration::from_secs(3_600);
/// Tests of one wallet, of one client address, of one host, and of all of them, in one process.
const PER_WALLET: Rate = Rate { policy: "agent-tests-per-wallet", burst: 20, quota: 60, window: HOUR };
const PER_ADDRESS: Rate = Rate { policy: "agent-tests-per-address", burst: 30, quota: 120, window: HOUR };
const PER_HOST: Rate = Rate { policy: "agent-tests-per-host", burst: 20, quota: 60, window: HOUR };
const IN_ALL: Rate = Rate { policy: "agent-tests", burst: 60, quota: 600, window: HOUR };
/// Seconds of the tests of one wallet, of one client address, and of one host.
const SECONDS_PER_WALLET: Rate = Rate { policy: "agent-test-seconds-per-wallet", ..SECONDS };
const SECONDS_PER_ADDRESS: Rate = Rate { policy: "agent-test-seconds-per-address", ..SECONDS };
const SECONDS_PER_HOST: Rate = Rate { policy: "agent-test-seconds-per-host", ..SECONDS };
const SECONDS: Rate = Rate { policy: "agent-test-seconds", burst: 600, quota: 1_200, window: HOUR };
/// Tests that this process runs at a time, those that wait for a place, and how long they wait.
const AT_ONCE: u32 = 8;
const WAITING: u32 = 32;
const PATIENCE: Duration = Duration::from_secs(20);
/// When to try again while other tests are under way.
const RETRY_AFTER: Duration = Duration::from_secs(10);
const ONE_AT_A_TIME: Policies = Policies {
    what: "tests",
    wallet: ("agent-tests-at-once-per-wallet", 1),
    address: ("agent-tests-at-once-per-address", 1),
    host: ("agent-tests-at-once-per-host", 1),
    patience: Duration::ZERO,
    retry_after: RETRY_AFTER,
};

/// Admits tests.
pub(crate) struct AgentTests {
    pub outbound: Outbound,
    turns: Turns,
    /// Of the tests that run. Who waits gets the next one in the order of the requests.
    places: Arc<Semaphore>,
    /// Of the tests that run or wait.
    queue: Arc<Semaphore>,
    all: Allowances<()>,
    tests: TestLimits,
    seconds: Arc<TestLimits>,
}

/// A limit of wallets, client addresses and hosts.
struct TestLimits {
    wallets: Allowances<TurnSubject>,
    addresses: Allowances<TurnSubject>,
    hosts: Allowances<TurnSubject>,
}

/// A test that may run. Its place is free again when this is dropped, and its time is counted.
pub(crate) struct Admitted {
    seconds: Arc<TestLimits>,
    started: Instant,
    turn: Turn,
    _places: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl AgentTests {
    pub fn new(outbound: Outbound) -> Self {
        let places = |number: u32| Arc::new(Semaphore::new(usize::try_from(number).unwrap_or(1)));
        Self {
            outbound,
            turns: Turns::new(ONE_AT_A_TIME),
            places: places(AT_ONCE),
            queue: places(AT_ONCE.saturating_add(WAITING)),
            all: Allowances::new(IN_ALL),
            tests: TestLimits::new(PER_WALLET, PER_ADDRESS, PER_HOST),
            seconds: Arc::new(TestLimits::new(SECONDS_PER_WALLET, SECONDS_PER_ADDRESS, SECONDS_PER_HOST)),
        }
    }

    /// Takes a place for a test, and waits for it for a moment, or answers 429. An endpoint that may not be called gets no
    /// request and has no host.
    pub async fn admit(&self, wallet: Pubkey, client: Option<IpAddr>, endpoint: &str) -> Result<Admitted, ApiError> {
        let host = self.host(endpoint).map(TurnSubject::Host);
        let turn = self.turns.take(TurnSubject::of(wallet, client).into_iter().chain(host).collect()).await?;
        for subject in &turn.holders {
            let (seconds, whose) = self.seconds.of(subject);
            seconds.check(subject.clone(), whose)?;
        }
        for subject in &turn.holders {
            let (tests, whose) = self.tests.of(subject);
            tests.take(subject.clone(), whose)?;
        }
        self.all.take((), "tests")?;
        let waiting = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| busy())?;
        let place = tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.map_err(|_| busy())?.map_err(ApiError::internal)?;
        let seconds = Arc::clone(&self.seconds);
        Ok(Admitted { seconds, started: Instant::now(), turn, _places: (place, waiting) })
    }

    /// The host of a URL that may be called, in one spelling.
    fn host(&self, endpoint: &str) -> Option<String> {
        let url = self.outbound.policy().check_url(endpoint).ok()?;
        url.host_str().map(|host| host.trim_end_matches('.').to_ascii_lowercase())
    }
}

fn busy() -> ApiError {
    let limit = RateLimit { policy: "agent-tests-at-once", quota: AT_ONCE, unit: QuotaUnit::Concurrent };
    ApiError::rate_limited("other tests are under way; try again when they have ended", limit, RETRY_AFTER)
}

impl TestLimits {
    fn new(wallets: Rate, addresses: Rate, hosts: Rate) -> Self {
        Self { wallets: Allowances::new(wallets), addresses: Allowances::new(addresses), hosts: Allowances::new(hosts) }
    }

    /// The allowance of the subject, and what it is of.
    const fn of(&self, subject: &TurnSubject) -> (&Allowances<TurnSubject>, &'static str) {
        match subject {
            TurnSubject::Wallet(_) => (&self.wallets, "tests of this wallet"),
            TurnSubject::Address(_) => (&self.addresses, "tests from this address"),
            TurnSubject::Host(_) => (&self.hosts, "tests of this host"),
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let seconds = u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        for subject in &self.turn.holders {
            self.seconds.of(subject).0.charge(subject.clone(), seconds);
        }
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

    fn url(number: u32) -> String {
        format!("https://a{number}.example/")
    }

    #[tokio::test]
    async fn a_wallet_an_address_and_a_host_have_one_test_at_a_time() {
        let tests = tests();
        let first = tests.admit(wallet(0), client(0), &url(0)).await.expect("free");
        assert_eq!(refused(tests.admit(wallet(0), client(1), &url(1)).await), ONE_AT_A_TIME.wallet.0);
        for free in 1..5 {
            assert_eq!(refused(tests.admit(wallet(free), client(0), &url(free)).await), ONE_AT_A_TIME.address.0);
        }
        assert_eq!(refused(tests.admit(wallet(1), client(1), "https://A0.example./x").await), ONE_AT_A_TIME.host.0);
        assert!(tests.admit(wallet(1), client(1), &url(1)).await.is_ok(), "one address leaves the places to others");
        drop(first);
        assert!(tests.admit(wallet(0), client(0), &url(0)).await.is_ok());
    }

    #[tokio::test]
    async fn who_waits_for_a_place_gets_it_when_a_test_ends() {
        let tests = Arc::new(tests());
        let mut running = Vec::new();
        for number in 0..AT_ONCE {
            running.push(tests.admit(wallet(number), client(number), &url(number)).await.expect("free"));
        }
        let waiting = tokio::spawn({
            let tests = Arc::clone(&tests);
            async move { tests.admit(wallet(90), client(90), &url(90)).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished());
        running.pop();
        assert!(waiting.await.expect("joined"));
        drop(running);
        assert_eq!(tests.places.available_permits(), 8);
    }

    #[tokio::test]
    async fn the_time_of_tests_is_counted_for_wallet_address_and_host() {
        let tests = tests();
        let long = async |number: u32, from: u32, to: u32| {
            let mut admitted = tests.admit(wallet(number), client(from), &url(to)).await?;
            admitted.started = Instant::now().checked_sub(Duration::from_secs(700)).expect("a time");
            Ok::<_, ApiError>(admitted)
        };
        drop(long(1, 1, 1).await.expect("free"));
        assert_eq!(refused(long(1, 2, 2).await), SECONDS_PER_WALLET.policy);
        assert_eq!(refused(long(2, 1, 2).await), SECONDS_PER_ADDRESS.policy);
        assert_eq!(refused(long(2, 2, 1).await), SECONDS_PER_HOST.policy);
        assert!(long(2, 2, 2).await.is_ok());
    }

    #[tokio::test]
    async fn tests_of_one_wallet_client_or_host_are_few_and_so_are_all_together() {
        let (by_wallet, by_client, by_host, by_all) = (tests(), tests(), tests(), tests());
        for number in 0..PER_WALLET.burst {
            assert!(by_wallet.admit(wallet(1), client(number), &url(number)).await.is_ok());
        }
        assert_eq!(refused(by_wallet.admit(wallet(1), client(99), &url(99)).await), PER_WALLET.policy);
        for number in 0..PER_ADDRESS.burst {
            assert!(by_client.admit(wallet(number), client(1), &url(number)).await.is_ok());
        }
        assert_eq!(refused(by_client.admit(wallet(99), client(1), &url(99)).await), PER_ADDRESS.policy);
        let spellings = ["https://victim.example/a", "https://VICTIM.example./b", "https://victim.example:443/?c"];
        for (number, spelling) in (0..PER_HOST.burst).zip(spellings.iter().cycle()) {
            assert!(by_host.admit(wallet(number), client(number), spelling).await.is_ok());
        }
        assert_eq!(refused(by_host.admit(wallet(99), client(99), spellings[1]).await), PER_HOST.policy);
        for number in 0..IN_ALL.burst {
            assert!(by_all.admit(wallet(number), client(number), &url(number)).await.is_ok());
        }
        assert_eq!(refused(by_all.admit(wallet(99), client(99), &url(99)).await), IN_ALL.policy);
    }
}
