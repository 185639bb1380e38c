//! A user of the service during an attack, and what that user observes.
//!
//! Bounds under attack: a paid call takes at most three times its idle 99th percentile, and `/healthz` takes at most
//! 100 ms. `CRTX_DENIAL_BOUNDS=exact` applies exactly these, for a build with the profile `services`. The test command
//! runs unoptimised services on two cores, which they share with the attackers, the chain and the database, and on
//! machines of which one takes three times as long as another: there each bound has a minimum, and a paid call may take as
//! long as the health requests of its time say that its turns on the processor take. The slowest samples are left out:
//! one in fifty, and at least one. The faults that this suite detects take more than 3 and up to 60 s, above these bounds.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    client::{Client, Execute, Reply},
    http_proxy::HttpProxy,
};

/// A paid call of unoptimised services may always take this long under attack.
const PAID_MINIMUM: Duration = Duration::from_millis(3_000);
/// A paid call waits for the processor as often as so many health requests; 19 to 30 were measured.
const PAID_TURNS: u32 = 40;
const HEALTH_BOUND: Duration = Duration::from_millis(100);
/// Half of the health requests, and the slowest ones, to unoptimised services may always take this long.
const HEALTH_MEDIAN_MINIMUM: Duration = Duration::from_millis(250);
const HEALTH_TAIL_MINIMUM: Duration = Duration::from_millis(1_000);
/// Multiple of the idle time.
const FACTOR: u32 = 3;
/// One of this number of samples is left out.
const LEFT_OUT: usize = 50;
/// The process may grow by this much during one attack.
const MEMORY_BOUND_MIB: u64 = 256;
/// Longest wait of the bystander for one answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Calls that are made at least, so that the slowest one can be left out.
const FEWEST_CALLS: usize = 3;
const BETWEEN_CHECKS: Duration = Duration::from_millis(25);

pub struct Bystander {
    client: Client,
    base_url: String,
    api_key: String,
    agent: String,
    /// Id of the process that serves `base_url`.
    pid: i32,
    calls: bool,
}

/// The measurements of one period.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub paid: Vec<Duration>,
    pub health: Vec<Duration>,
    /// Calls without a result, and health requests that failed.
    pub refused: Vec<String>,
    /// Peak memory of the process so far.
    pub peak_mib: u64,
}

impl Bystander {
    pub fn new(base_url: &str, api_key: &str, agent: &str, pid: i32) -> Self {
        let client = Client::new().expect("a client");
        let (base_url, api_key, agent) = (base_url.to_owned(), api_key.to_owned(), agent.to_owned());
        Self { client, base_url, api_key, agent, pid, calls: true }
    }

    /// Reaches the service through a proxy in front of it.
    #[must_use]
    pub fn through(mut self, proxy: &HttpProxy) -> Self {
        self.base_url = proxy.base_url();
        self
    }

    /// Requests only the health of the service, because no call can be paid while the chain does not answer.
    #[must_use]
    pub fn without_calls(mut self) -> Self {
        self.calls = false;
        self
    }

    /// Uses the service for `period`.
    pub async fn watch(&self, period: Duration) -> Measured {
        let end = Instant::now() + period;
        let ((paid, mut refused), (health, ill)) = tokio::join!(self.pay_until(end), self.check_until(end));
        refused.extend(ill);
        Measured { paid, health, refused, peak_mib: peak_mib(self.pid) }
    }

    async fn pay_until(&self, end: Instant) -> (Vec<Duration>, Vec<String>) {
        let (mut paid, mut refused) = (Vec::new(), Vec::new());
        let body = json!({"task": "One. Two."});
        while self.calls && (Instant::now() < end || paid.len() + refused.len() < FEWEST_CALLS) {
            let call = Execute {
                base_url: &self.base_url,
                api_key: &self.api_key,
                agent: &self.agent,
                body: &body,
                idempotency_key: None,
                patience: PATIENCE,
            };
            let started = Instant::now();
            match self.client.execute(&call).await {
                Reply::Answer { status: 200, .. } => paid.push(started.elapsed()),
                other => refused.push(format!("a paid call after {:?}: {other:?}", started.elapsed())),
            }
        }
        (paid, refused)
    }

    async fn check_until(&self, end: Instant) -> (Vec<Duration>, Vec<String>) {
        let (mut checks, mut ill) = (Vec::new(), Vec::new());
        let url = format!("{}/healthz", self.base_url);
        while Instant::now() < end {
            let started = Instant::now();
            match self.client.get(&url, None, PATIENCE).await {
                Reply::Answer { status: 200, .. } => checks.push(started.elapsed()),
                other => ill.push(format!("/healthz after {:?}: {other:?}", started.elapsed())),
            }
            tokio::time::sleep(BETWEEN_CHECKS).await;
        }
        (checks, ill)
    }

    /// Compares `attacked` with `idle`. Returns the violated bounds.
    pub fn compare(&self, name: &str, idle: &Measured, attacked: &Measured) -> Vec<String> {
        let usual = median(&attacked.health);
        let (paid_bound, median_bound, health_bound) = bounds(idle, usual, exact_bounds());
        let (paid, health) = (tail(&attacked.paid), tail(&attacked.health));
        let grown = attacked.peak_mib.saturating_sub(idle.peak_mib);
        eprintln!(
            "{name}: paid call {paid:.0?} of {paid_bound:.0?} ({:.0?} idle, {} calls), /healthz {usual:.0?}, {health:.0?} of {health_bound:.0?} \
             ({} health requests), {grown} MiB more, {} refused",
            tail(&idle.paid),
            attacked.paid.len(),
            attacked.health.len(),
            attacked.refused.len(),
        );
        let mut wrong: Vec<String> = attacked.refused.iter().take(3).map(|text| format!("{name}: {text}")).collect();
        if self.calls && attacked.paid.is_empty() {
            wrong.push(format!("{name}: no paid call ended"));
        }
        if paid > paid_bound {
            wrong.push(format!("{name}: a paid call took {paid:.0?}; {paid_bound:.0?} are allowed"));
        }
        if usual > median_bound {
            wrong.push(format!("{name}: half of /healthz took over {usual:.0?}; {median_bound:.0?} are allowed"));
        }
        if health > health_bound || attacked.health.is_empty() {
            wrong.push(format!("{name}: /healthz took {health:.0?}; {health_bound:.0?} are allowed"));
        }
        if grown > MEMORY_BOUND_MIB {
            wrong.push(format!("{name}: the process grew by {grown} MiB; {MEMORY_BOUND_MIB} are allowed"));
        }
        wrong
    }
}

/// How long the service is watched without an attack. The minimum of a bound needs fewer samples than the exact one.
pub fn idle_period() -> Duration {
    Duration::from_millis(if exact_bounds() { 6_000 } else { 1_500 })
}

/// How long the service is watched under each attack.
pub fn attack_period() -> Duration {
    Duration::from_millis(if exact_bounds() { 6_000 } else { 1_500 })
}

/// Whether the bounds have no minimum.
fn exact_bounds() -> bool {
    std::env::var_os("CRTX_DENIAL_BOUNDS").is_some_and(|bounds| bounds == "exact")
}

/// The longest paid call, and the median and the longest health request, that are allowed. `usual`: the median of the
/// health requests meanwhile.
fn bounds(idle: &Measured, usual: Duration, exact: bool) -> (Duration, Duration, Duration) {
    let paid = tail(&idle.paid) * FACTOR;
    if exact {
        return (paid, HEALTH_BOUND, HEALTH_BOUND);
    }
    let (health_median, health_tail) = (median(&idle.health) * FACTOR, tail(&idle.health) * FACTOR);
    // Health requests that are too slow themselves excuse no call.
    let turns = usual.min(HEALTH_MEDIAN_MINIMUM) * PAID_TURNS;
    let paid = paid.max(PAID_MINIMUM).max(turns);
    (paid, health_median.max(HEALTH_MEDIAN_MINIMUM), health_tail.max(HEALTH_TAIL_MINIMUM))
}

/// The slowest sample after one in fifty, and at least one, is left out.
pub fn tail(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let left_out = samples.len().div_ceil(LEFT_OUT).max(1);
    sorted.iter().rev().nth(left_out).or(sorted.first()).copied().unwrap_or_default()
}

fn median(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Peak memory of a process.
fn peak_mib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_bounds_have_no_minimum_and_others_follow_the_processor() {
        let idle = Measured { paid: vec![Duration::from_millis(20); 9], ..Measured::default() };
        let ms = Duration::from_millis;
        assert_eq!(bounds(&idle, ms(200), true), (ms(60), HEALTH_BOUND, HEALTH_BOUND));
        assert_eq!(bounds(&idle, ms(60), false), (PAID_MINIMUM, HEALTH_MEDIAN_MINIMUM, HEALTH_TAIL_MINIMUM));
        assert_eq!(bounds(&idle, ms(200), false).0, ms(8_000), "on a busy processor");
    }

    #[test]
    fn the_slowest_sample_in_fifty_does_not_count() {
        let ms = Duration::from_millis;
        assert_eq!(tail(&[]), ms(0));
        assert_eq!(tail(&[ms(7)]), ms(7));
        assert_eq!(tail(&[ms(900), ms(7), ms(8)]), ms(8));
        let many: Vec<_> = (0..100).map(ms).collect();
        assert_eq!(tail(&many), ms(97));
    }

    #[test]
    fn a_slow_call_a_refusal_and_grown_memory_are_all_named() {
        let bystander = Bystander::new("http://127.0.0.1:1", "key", "agent", 1);
        let idle = Measured { paid: vec![Duration::from_millis(50); 9], ..Measured::default() };
        let slow = Measured {
            paid: vec![Duration::from_secs(11); 9],
            health: vec![Duration::from_secs(2); 9],
            refused: vec!["503".to_owned()],
            peak_mib: 9_999,
        };
        assert_eq!(bystander.compare("x", &idle, &slow).len(), 5);
        let well = Measured { health: vec![Duration::from_millis(5); 9], ..idle.clone() };
        assert!(bystander.compare("x", &idle, &well).is_empty());
    }
}
