//! Resolves names that others choose. An own resolver asks the system's name servers without a thread for each
//! query. Queries are bounded in time and number, shared by all who wait for the same name, and cached for a short
//! time, so that a client connects to the addresses that were checked.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use hickory_resolver::{
    Resolver, TokioResolver,
    config::{LookupIpStrategy, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
};
use moka::{Expiry, future::Cache};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::{sync::Semaphore, time::timeout};

use super::policy::{OutboundError, OutboundPolicy};

/// Longest wait for the addresses of a name.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Names that are being resolved at the same time.
const MAX_LOOKUPS: usize = 256;
/// Names that are remembered, and for how long.
const MAX_REMEMBERED: u64 = 4_096;
const REMEMBER_GOOD: Duration = Duration::from_secs(30);
const REMEMBER_BAD: Duration = Duration::from_secs(5);
/// Addresses that are looked at: a name with more is refused, not cut.
const MAX_ADDRESSES: usize = 64;

/// Asks for the addresses of a name. Its errors are for the log.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> + Send + Sync>;

type Verdict = Result<Arc<[IpAddr]>, OutboundError>;

/// Names, resolved and checked under one policy. Cheap to clone.
#[derive(Clone)]
pub(super) struct Names {
    policy: OutboundPolicy,
    lookup: Lookup,
    patience: Duration,
    known: Cache<String, Verdict>,
    lookups: Arc<Semaphore>,
}

/// Failures are cached for a shorter time.
struct ByVerdict;

impl Expiry<String, Verdict> for ByVerdict {
    fn expire_after_create(&self, _name: &String, verdict: &Verdict, _now: Instant) -> Option<Duration> {
        Some(if verdict.is_ok() { REMEMBER_GOOD } else { REMEMBER_BAD })
    }
}

impl Names {
    /// `patience` bounds one question.
    pub fn new(policy: OutboundPolicy, lookup: Lookup, patience: Duration) -> Self {
        let known = Cache::builder().max_capacity(MAX_REMEMBERED).expire_after(ByVerdict).build();
        Self { policy, lookup, patience, known, lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }

    /// The addresses of a name, all of which the policy allows.
    pub async fn addresses(&self, name: &str) -> Verdict {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let asked = self.known.try_get_with(name.clone(), async {
            let slot = timeout(self.patience, self.lookups.acquire()).await;
            let _slot = slot.map_err(|_| OutboundError::Busy)?.map_err(|_| OutboundError::Busy)?;
            Ok(self.ask(&name).await)
        });
        // A caller that shares a query waits no longer than for a query of its own.
        match timeout(self.patience.saturating_mul(2), asked).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(busy)) => Err(OutboundError::clone(&busy)),
            Err(_) => Err(OutboundError::SlowName(name)),
        }
    }

    async fn ask(&self, name: &str) -> Verdict {
        let addresses = match timeout(self.patience, (self.lookup)(name.to_owned())).await {
            Err(_) => return Err(OutboundError::SlowName(name.to_owned())),
            Ok(Err(cause)) => {
                tracing::debug!(name, cause, "a name was not resolved");
                return Err(OutboundError::NoAddress(name.to_owned()));
            }
            Ok(Ok(addresses)) => addresses,
        };
        if addresses.is_empty() || addresses.len() > MAX_ADDRESSES {
            return Err(OutboundError::NoAddress(name.to_owned()));
        }
        // One bad address refuses the name, because the client decides which address it uses.
        addresses.iter().try_for_each(|address| self.policy.check_address(*address))?;
        Ok(addresses.into())
    }
}

/// The addresses that a client connects to are the ones that were checked.
impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.clone();
        Box::pin(async move {
            let addresses = names.addresses(name.as_str()).await?;
            let sockets: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
            Ok(Box::new(sockets.into_iter()) as Addrs)
        })
    }
}

/// Asks the name servers and reads the hosts file of this machine, as they are at the first question.
pub(super) fn system_lookup(policy: OutboundPolicy) -> Lookup {
    let resolver = Arc::new(OnceLock::new());
    Arc::new(move |name| {
        let resolver = Arc::clone(&resolver);
        // Names are complete as they are; on a local network the machine's search list applies.
        let name = if policy.allow_insecure { name } else { format!("{name}.") };
        Box::pin(async move {
            let resolver = resolver.get_or_init(system_resolver).as_ref().map_err(Clone::clone)?;
            let found = resolver.lookup_ip(name).await.map_err(|error| error.to_string())?;
            Ok(found.iter().collect())
        })
    })
}

fn system_resolver() -> Result<TokioResolver, String> {
    let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|error| {
        tracing::warn!(%error, "no name servers are configured; only the hosts file is used");
        Resolver::builder_with_config(ResolverConfig::default(), TokioRuntimeProvider::default())
    });
    let options = builder.options_mut();
    options.timeout = PATIENCE.div_f32(2.0);
    options.attempts = 2;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.max_active_requests = MAX_LOOKUPS.saturating_mul(2);
    options.positive_max_ttl = Some(REMEMBER_GOOD);
    options.negative_max_ttl = Some(REMEMBER_BAD);
    builder.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    /// Answers by a script.
    fn scripted(name: String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        Box::pin(async move {
            match name.as_str() {
                name if name.starts_with("slow") => std::future::pending().await,
                "good.example" => Ok(vec![address("8.8.8.8"), address("2606:4700::1111")]),
                "mixed.example" => Ok(vec![address("8.8.8.8"), address("10.0.0.1")]),
                "mapped.example" => Ok(vec![address("::ffff:127.0.0.1")]),
                "nat64.example" => Ok(vec![address("64:ff9b::a9fe:a9fe")]),
                "6to4.example" => Ok(vec![address("2002:7f00:1::")]),
                "empty.example" => Ok(Vec::new()),
                "many.example" => Ok(vec![address("8.8.8.8"); MAX_ADDRESSES + 1]),
                _ => Err("no such name".to_owned()),
            }
        })
    }

    /// The names, and how many questions were asked.
    fn names(policy: OutboundPolicy) -> (Names, Arc<AtomicUsize>) {
        let questions = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&questions);
        let lookup = move |name| {
            counted.fetch_add(1, Ordering::SeqCst);
            scripted(name)
        };
        (Names::new(policy, Arc::new(lookup), SHORT), questions)
    }

    #[tokio::test]
    async fn a_name_is_good_only_if_all_of_its_addresses_are() {
        let (names, _) = names(OutboundPolicy::STRICT);
        assert_eq!(names.addresses("good.example").await.expect("good").len(), 2);
        for home in ["mixed.example", "mapped.example", "nat64.example", "6to4.example"] {
            assert!(matches!(names.addresses(home).await, Err(OutboundError::SpecialUse(_))), "{home}");
        }
        for nowhere in ["empty.example", "many.example", "none.example"] {
            assert_eq!(names.addresses(nowhere).await, Err(OutboundError::NoAddress(nowhere.to_owned())));
        }
    }

    #[tokio::test]
    async fn a_local_network_resolves_to_anything() {
        let (names, _) = names(OutboundPolicy::LOCAL);
        assert!(names.addresses("mixed.example").await.is_ok());
    }

    #[tokio::test]
    async fn a_name_is_asked_for_once_however_it_is_spelled_and_however_many_wait() {
        let (names, questions) = names(OutboundPolicy::STRICT);
        let spellings = ["good.example", "GOOD.example", "good.example."];
        let asked = (0..60_usize).map(|n| names.addresses(spellings[n % spellings.len()]));
        assert!(futures::future::join_all(asked).await.iter().all(Result::is_ok));
        assert!(names.addresses("none.example").await.is_err());
        assert!(names.addresses("none.example").await.is_err());
        assert_eq!(questions.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn slow_names_are_given_up_and_remembered_for_a_moment() {
        let (names, questions) = names(OutboundPolicy::STRICT);
        let slow = || Err(OutboundError::SlowName("slow.example".to_owned()));
        assert_eq!(names.addresses("slow.example").await, slow());
        assert_eq!(names.addresses("slow.example").await, slow());
        assert_eq!(questions.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn hundreds_of_slow_names_are_bounded_in_number_and_pass() {
        let (names, questions) = names(OutboundPolicy::STRICT);
        let slow: Vec<String> = (0..1_000).map(|number| format!("slow{number}.example")).collect();
        let asked = futures::future::join_all(slow.iter().map(|name| names.addresses(name)));
        let verdicts = asked.await;
        assert!(verdicts.iter().all(Result::is_err));
        assert!(verdicts.contains(&Err(OutboundError::Busy)));
        assert!(questions.load(Ordering::SeqCst) <= MAX_LOOKUPS * 2);
        assert!(names.addresses("good.example").await.is_ok());
    }

    #[tokio::test]
    async fn a_client_connects_to_the_addresses_that_were_checked() {
        let (names, questions) = names(OutboundPolicy::STRICT);
        names.addresses("good.example").await.expect("good");
        let name: Name = "good.example".parse().expect("a name");
        let found: Vec<SocketAddr> = names.resolve(name).await.expect("good").collect();
        assert_eq!(found.len(), 2);
        assert_eq!(questions.load(Ordering::SeqCst), 1, "the answer is not asked for again");
        assert!(names.resolve("mixed.example".parse().expect("a name")).await.is_err());
    }
}
