//! The order in which documents are fetched: who used the least time is next, and nobody uses all the places.

use std::{collections::HashMap, hash::Hash, time::Duration};

use crtx_store::metadata::WantedDocument;
use solana_pubkey::Pubkey;
use tokio::time::Instant;

use super::fetch::DocumentSource;

/// Fetches at once. Each holds at most one document in memory.
pub const FETCHES: usize = 256;
/// Fetches at once of documents whose host or creator is slow: the others are for those about which nothing bad is
/// known.
pub const SLOW_FETCHES: usize = 64;
/// Fetches at once of one creator: fewer than of one host, so that no creator uses up a host.
pub const FETCHES_PER_CREATOR: usize = 2;
/// Time spent from which a host or a creator is slow.
const SLOW_AFTER: Duration = Duration::from_secs(10);
/// Spent time counts half after this time.
const HALF_LIFE: Duration = Duration::from_secs(300);
/// Names whose time is remembered. Beyond that, the one with the least time is forgotten.
const MAX_NAMES: usize = 4_096;

/// A document that waits for its fetch.
#[derive(Clone, Debug)]
pub struct FetchJob {
    pub wanted: WantedDocument,
    pub source: DocumentSource,
    /// A fetch that begins later could outlive the lease.
    pub start_before: Instant,
}

/// Whom a fetch under way counts for.
#[derive(Clone, Debug)]
struct RunningFetch {
    host: String,
    creator: Pubkey,
    slow: bool,
}

/// Documents that wait, documents that are fetched, and the time that was spent.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Vec<FetchJob>,
    running: HashMap<Pubkey, RunningFetch>,
    hosts: Ledger<String>,
    creators: Ledger<Pubkey>,
}

impl Queue {
    pub fn add(&mut self, job: FetchJob) {
        self.waiting.push(job);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next document to fetch, if one may begin now. It counts as under way until [`Queue::finished`]. Documents
    /// that waited too long are forgotten: their lease ends, and they are claimed again.
    pub fn next(&mut self, now: Instant) -> Option<FetchJob> {
        self.waiting.retain(|job| now < job.start_before);
        if self.running.len() >= FETCHES {
            return None;
        }
        let slow_running = self.running.values().filter(|running| running.slow).count();
        let best = self.waiting.iter().enumerate().filter_map(|(index, job)| {
            let (spent, slow) = self.cost(job, now);
            let admitted = (!slow || slow_running < SLOW_FETCHES) && self.has_place(job);
            admitted.then_some((spent, job.wanted.attempts, index, slow))
        });
        let (_, _, index, slow) = best.min()?;
        let job = self.waiting.remove(index);
        let running = RunningFetch { host: job.source.host(), creator: job.wanted.creator, slow };
        self.running.insert(job.wanted.agent, running);
        Some(job)
    }

    /// Ends a fetch that took so long.
    pub fn finished(&mut self, agent: &Pubkey, took: Duration, now: Instant) {
        if let Some(running) = self.running.remove(agent) {
            spend(&mut self.hosts, &running.host, took, now);
            spend(&mut self.creators, &running.creator, took, now);
        }
    }

    /// The sum orders the documents of one host by their creators, and those of one creator by their hosts.
    fn cost(&self, job: &FetchJob, now: Instant) -> (Duration, bool) {
        let host = spent(&self.hosts, &job.source.host(), now);
        let creator = spent(&self.creators, &job.wanted.creator, now);
        (host.saturating_add(creator), host.max(creator) >= SLOW_AFTER)
    }

    fn has_place(&self, job: &FetchJob) -> bool {
        let host = job.source.host();
        let on_host = self.running.values().filter(|running| running.host == host).count();
        let of_creator = self.running.values().filter(|running| running.creator == job.wanted.creator).count();
        on_host < job.source.fetches_at_once() && of_creator < FETCHES_PER_CREATOR
    }
}

/// How much time the fetches of a host or a creator took lately, and when the last one ended.
type Ledger<Name> = HashMap<Name, (Duration, Instant)>;

fn spent<Name: Eq + Hash>(ledger: &Ledger<Name>, name: &Name, now: Instant) -> Duration {
    ledger.get(name).map_or(Duration::ZERO, |of_name| left(*of_name, now))
}

fn left((time, at): (Duration, Instant), now: Instant) -> Duration {
    let halves = now.saturating_duration_since(at).as_secs().checked_div(HALF_LIFE.as_secs()).unwrap_or(0);
    let divisor = u32::try_from(halves).ok().and_then(|halves| 1u32.checked_shl(halves)).unwrap_or(u32::MAX);
    time.checked_div(divisor).unwrap_or_default()
}

fn spend<Name: Clone + Eq + Hash>(ledger: &mut Ledger<Name>, name: &Name, time: Duration, now: Instant) {
    let time = spent(ledger, name, now).saturating_add(time);
    ledger.insert(name.clone(), (time, now));
    if ledger.len() > MAX_NAMES {
        let least = ledger.iter().min_by_key(|(_, of_name)| left(**of_name, now)).map(|(name, _)| name.clone());
        least.and_then(|name| ledger.remove(&name));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crtx_http::outbound::OutboundPolicy;

    use super::*;

    const TAKES: Duration = Duration::from_secs(5);

    fn job(agent: u64, creator: u64, host: &str) -> FetchJob {
        let key = |number: u64| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Pubkey::new_from_array(bytes)
        };
        let uri = format!("https://{host}/{agent}");
        let source = DocumentSource::of(&uri, OutboundPolicy::LOCAL).expect("a URL");
        let wanted = WantedDocument { agent: key(agent), creator: key(creator), sha256: [0; 32], uri, attempts: 0 };
        let start_before = Instant::now().checked_add(Duration::from_secs(3_600)).expect("a time");
        FetchJob { wanted, source, start_before }
    }

    fn started(queue: &mut Queue, now: Instant) -> Vec<FetchJob> {
        std::iter::from_fn(|| queue.next(now)).collect()
    }

    #[tokio::test]
    async fn neither_a_creator_nor_a_host_uses_all_places() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        (0..200).for_each(|n| queue.add(job(n, 1, &format!("{n}.example"))));
        (200..400).for_each(|n| queue.add(job(n, n, "one.example")));
        queue.add(job(400, 400, "other.example"));
        let begun = started(&mut queue, now);
        assert_eq!(begun.len(), FETCHES_PER_CREATOR + 4 + 1);
        assert!(begun.iter().any(|job| job.wanted.uri.contains("other.example")));
    }

    #[tokio::test]
    async fn an_honest_creator_on_the_host_of_a_slow_one_begins_at_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        (0..200).for_each(|n| queue.add(job(n, 1, "shared.example")));
        assert_eq!(started(&mut queue, now).len(), FETCHES_PER_CREATOR);
        queue.add(job(500, 2, "shared.example"));
        assert_eq!(started(&mut queue, now).len(), 1);
    }

    #[tokio::test]
    async fn known_slow_ones_leave_places_for_others_even_if_each_is_another_creator_on_another_host() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        let slow = |n: u64| job(n, n, &format!("{n}.example"));
        for _ in 0..3 {
            (0..200).for_each(|n| queue.add(slow(n)));
            loop {
                let begun = started(&mut queue, now);
                if begun.is_empty() {
                    break;
                }
                now += TAKES;
                begun.iter().for_each(|job| queue.finished(&job.wanted.agent, TAKES, now));
            }
        }
        (0..200).for_each(|n| queue.add(slow(n)));
        assert_eq!(started(&mut queue, now).len(), SLOW_FETCHES);
        queue.add(job(1_000, 1_000, "new.example"));
        assert_eq!(started(&mut queue, now).len(), 1);
    }

    #[tokio::test]
    async fn who_used_less_time_is_next_and_everybody_has_a_turn() {
        let (mut queue, mut now) = (Queue::default(), Instant::now());
        (0..20).for_each(|n| queue.add(job(n, n % 2, "shared.example")));
        let mut seen = HashSet::new();
        while let Some(job) = queue.next(now) {
            // One at a time; documents of creator 1 take ten times as long.
            let took = if job.wanted.agent.to_bytes()[0] % 2 == 1 { TAKES } else { TAKES / 10 };
            now += took;
            queue.finished(&job.wanted.agent, took, now);
            seen.insert(job.wanted.agent);
            if seen.len() == 11 {
                let quick = seen.iter().filter(|agent| agent.to_bytes()[0] % 2 == 0).count();
                assert!(quick >= 9, "{quick} of 11");
            }
        }
        assert_eq!(seen.len(), 20);
    }

    #[tokio::test]
    async fn a_document_whose_lease_is_almost_over_is_left_to_others() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.add(FetchJob { start_before: now, ..job(1, 1, "a.example") });
        assert!(queue.next(now).is_none());
        assert_eq!(queue.waiting(), 0);
    }

    #[tokio::test]
    async fn spent_time_adds_up_and_is_forgotten_by_halves() {
        let (mut ledger, start) = (Ledger::<_>::default(), Instant::now());
        spend(&mut ledger, &"a", Duration::from_secs(3), start);
        spend(&mut ledger, &"a", Duration::from_secs(5), start);
        assert_eq!(spent(&ledger, &"a", start), Duration::from_secs(8));
        assert_eq!(spent(&ledger, &"a", start + HALF_LIFE * 2), Duration::from_secs(2));
        assert_eq!(spent(&ledger, &"a", start + HALF_LIFE * 1_000), Duration::from_nanos(1));
        assert_eq!(spent(&ledger, &"b", start), Duration::ZERO);
    }

    #[tokio::test]
    async fn its_memory_is_bounded_and_the_slowest_are_remembered() {
        let (mut ledger, now) = (Ledger::<_>::default(), Instant::now());
        spend(&mut ledger, &usize::MAX, Duration::from_secs(60), now);
        for name in 0..MAX_NAMES * 2 {
            spend(&mut ledger, &name, Duration::from_secs(1), now);
        }
        assert_eq!(ledger.len(), MAX_NAMES);
        assert_eq!(spent(&ledger, &usize::MAX, now), Duration::from_secs(60));
    }
}
