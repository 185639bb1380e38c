//! Processes, hosts and databases are killed, cut off, stopped and replaced, one after the other, while callers call. All is
//! compared at the end, as after a crash campaign. Besides, it is measured how long nobody is served, and how long nobody
//! does what one process does for all.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{Leader, Machines, Single};
use crate::{
    callers,
    cast::Cast,
    check::{Checker, Openings, Tally, Violation},
    client::Client,
    notes::{Claim, Notebook},
    plan::{Call, Calls},
    receivers::Receivers,
};

const CALLERS: usize = 4;
/// Between two calls that only measure whether anybody is served.
const PROBE_EVERY: Duration = Duration::from_millis(400);
/// A probe that takes longer was not served.
const PROBE_LIMIT: Duration = Duration::from_secs(3);
const READ_EVERY: Duration = Duration::from_millis(150);
/// Longer than a lead survives without a word.
const PAUSE: Duration = Duration::from_secs(7);
const FAILOVER_LIMIT: Duration = Duration::from_secs(60);
/// Records of which `crtx verify` checks every one; of more, that many.
const VERIFIED: usize = 600;
const STOP_LIMIT: Duration = Duration::from_secs(40);

/// What happens in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL of one process of a role (`super::ROLES`).
    Process(usize),
    /// SIGSTOP of the process that leads, and SIGCONT.
    Paused(Single),
    /// A host without power: cut off and everything killed, then back.
    HostLost,
    /// A host without a network, whose processes run on.
    HostCut,
    /// SIGKILL of all processes of the primary: the standby is promoted.
    PrimaryKilled,
    /// The machine of the primary without a network.
    PrimaryCut,
    /// SIGKILL of all processes of the standby.
    StandbyKilled,
    /// Every process of one host after the other is stopped and started again.
    Rolled,
}

impl Fault {
    const ALL: [(Self, u32); 11] = [
        (Self::Process(0), 3),
        (Self::Process(1), 3),
        (Self::Process(2), 3),
        (Self::Paused(Single::IndexerLeader), 1),
        (Self::Paused(Single::GatewayLeader), 1),
        (Self::HostLost, 4),
        (Self::HostCut, 3),
        (Self::PrimaryKilled, 4),
        (Self::PrimaryCut, 3),
        (Self::StandbyKilled, 2),
        (Self::Rolled, 2),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Process(0) => "api process killed",
            Self::Process(1) => "worker killed",
            Self::Process(_) => "indexer killed",
            Self::Paused(Single::IndexerLeader) => "leading indexer stopped for 7 s",
            Self::Paused(Single::GatewayLeader) => "leading worker stopped for 7 s",
            Self::HostLost => "host without power",
            Self::HostCut => "host without network",
            Self::PrimaryKilled => "primary killed",
            Self::PrimaryCut => "primary without network",
            Self::StandbyKilled => "standby killed",
            Self::Rolled => "both hosts restarted in turn",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    pub rounds: usize,
    pub folder: PathBuf,
    /// `crtx-server` of the version before, for the second host.
    pub previous: Option<PathBuf>,
}

/// What came of a campaign.
#[derive(Default)]
pub struct Report {
    pub tally: Tally,
    pub violations: Vec<Violation>,
    pub promotions: usize,
    /// The longest time without a served call, for each round of a fault.
    pub gaps: BTreeMap<Fault, Vec<Duration>>,
    /// How long nobody did what one process does for all.
    pub failovers: BTreeMap<(Single, &'static str), Vec<Duration>>,
    pub reads: u64,
}

impl Report {
    /// The gap that 99 of 100 rounds are below.
    pub fn gap_p99(&self) -> Duration {
        let mut gaps: Vec<_> = self.gaps.values().flatten().copied().collect();
        gaps.sort_unstable();
        let index = (gaps.len() * 99).div_ceil(100).saturating_sub(1);
        gaps.get(index).copied().unwrap_or_default()
    }

    pub fn longest_failover(&self) -> Duration {
        self.failovers.values().flatten().max().copied().unwrap_or_default()
    }

    pub fn table(&self) -> String {
        let (mut text, ms) = (String::new(), |times: &[Duration]| {
            let mut sorted: Vec<u128> = times.iter().map(Duration::as_millis).collect();
            sorted.sort_unstable();
            let (middle, last) = (sorted.get(sorted.len() / 2), sorted.last());
            format!("{} | {} | {}", sorted.len(), middle.unwrap_or(&0), last.unwrap_or(&0))
        });
        text += "| fault | rounds | without service, p50 ms | longest ms |\n|---|---:|---:|---:|\n";
        for (fault, gaps) in &self.gaps {
            let _ = writeln!(text, "| {} | {} |", fault.name(), ms(gaps));
        }
        text += "\n| leader | fault | times | without leader, p50 ms | longest ms |\n|---|---|---:|---:|---:|\n";
        for ((single, fault), times) in &self.failovers {
            let _ = writeln!(text, "| {single:?} | {fault} | {} |", ms(times));
        }
        let _ = writeln!(
            text,
            "\np99 of the gaps {} ms; {} promotions; {} reads that named a slot; {:?}; {} violations",
            self.gap_p99().as_millis(),
            self.promotions,
            self.reads,
            self.tally,
            self.violations.len()
        );
        text
    }
}

struct Campaign {
    machines: Machines,
    cast: Cast,
    market: Arc<callers::Market>,
    client: Client,
    notebook: Arc<Notebook>,
    /// When calls that only measure were answered with a result.
    served: Arc<Mutex<Vec<Instant>>>,
    reads: Arc<AtomicU64>,
    stale: Arc<Mutex<Vec<Violation>>>,
    receivers: Arc<Receivers>,
}

/// Runs a campaign. Fails only where it could not be carried out.
pub async fn run(options: &Options) -> Result<Report> {
    let folder = crtx_e2e::folder();
    let logs = options.folder.join(format!("seed-{}", options.seed));
    let _ = std::fs::remove_dir_all(&logs);
    let machines = Machines::start(folder.path(), &logs, options.previous.clone()).await?;
    let cast = Cast::assemble(&machines.marketplace, &machines.pool, options.seed).await?;
    let market = callers::Market {
        base_urls: machines.base_urls(),
        keys: cast.keys.iter().map(|(_, key)| key.reveal()).collect(),
        agents: cast.agents.iter().map(|agent| agent.address.to_string()).collect(),
    };
    let receivers = Arc::new(Receivers::of(&cast));
    let campaign = Campaign {
        machines,
        cast,
        market: Arc::new(market),
        client: Client::new()?,
        notebook: Arc::default(),
        served: Arc::default(),
        reads: Arc::default(),
        stale: Arc::default(),
        receivers,
    };
    let mut report = Report::default();
    if let Err(error) = campaign.rounds(options, &mut report).await {
        let details = format!("{error:#}\n{}", campaign.machines.describe());
        report.violations.push(Violation { rule: "the service comes back after a fault", details });
    }
    campaign.compare(options.seed, &mut report).await?;
    campaign.stop(&mut report).await;
    if !report.violations.is_empty() {
        eprintln!("data kept in {}", folder.keep().display());
    }
    Ok(report)
}

/// The faults in their order: each at least once where there are enough rounds.
fn planned(options: &Options) -> Vec<Fault> {
    let mut random = StdRng::seed_from_u64(options.seed);
    let mut faults: Vec<Fault> = Fault::ALL.iter().map(|(fault, _)| *fault).collect();
    let weighted: Vec<Fault> = Fault::ALL.iter().flat_map(|(fault, weight)| (0..*weight).map(|_| *fault)).collect();
    faults.shuffle(&mut random);
    while faults.len() < options.rounds {
        faults.push(weighted[random.random_range(0..weighted.len())]);
    }
    faults.truncate(options.rounds);
    faults.shuffle(&mut random);
    faults
}

impl Campaign {
    async fn rounds(&self, options: &Options, report: &mut Report) -> Result<()> {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for caller in 0..CALLERS {
            let calls = Calls::new(options.seed, 0, caller, self.market.keys.len(), self.market.agents.len(), 2);
            let (market, client, notebook) =
                (Arc::clone(&self.market), self.client.clone(), Arc::clone(&self.notebook));
            tasks.spawn(callers::run(calls, market, client, notebook, stop.clone()));
        }
        tasks.spawn(self.probe(stop.clone()));
        tasks.spawn(self.read(stop.clone()));
        let (receivers, client, edge) =
            (Arc::clone(&self.receivers), self.client.clone(), self.market.base_urls.clone());
        let stopped = stop.clone();
        tasks.spawn(async move {
            stopped.run_until_cancelled(receivers.follow(&client, &edge)).await;
        });
        // A campaign begins with a service that serves.
        sleep(PROBE_LIMIT).await;
        let mut random = StdRng::seed_from_u64(options.seed ^ 0x1057);
        let mut done = Ok(());
        for (number, fault) in planned(options).into_iter().enumerate() {
            let (from, host) = (Instant::now(), random.random_range(0..self.machines.hosts.len()));
            let hold = Duration::from_millis(random.random_range(1_500..6_000));
            done = self.round(fault, host, hold, report).await;
            let (gap, took) = (self.gap_since(from), from.elapsed());
            report.gaps.entry(fault).or_default().push(gap);
            eprintln!(
                "round {}: {}, without service for {} ms, whole again after {} ms",
                number + 1,
                fault.name(),
                gap.as_millis(),
                took.as_millis()
            );
            if done.is_err() {
                break;
            }
        }
        stop.cancel();
        while tasks.join_next().await.is_some() {}
        report.promotions = self.machines.databases.roles().promotions;
        report.reads = self.reads.load(Ordering::Relaxed);
        report.violations.append(&mut self.stale.lock().unwrap_or_else(PoisonError::into_inner));
        done
    }

    /// One fault, until everything is there again.
    async fn round(&self, fault: Fault, host: usize, hold: Duration, report: &mut Report) -> Result<()> {
        let Machines { hosts, databases, .. } = &self.machines;
        match fault {
            Fault::Process(role) => {
                let single = Single::ALL.into_iter().find(|single| single.role() == role);
                let leader = match single {
                    Some(single) => self.machines.leader(single).await?,
                    None => None,
                };
                hosts[leader.map_or(host, |leader| leader.host)].signal(role, Signal::SIGKILL);
                if let (Some(single), Some(leader)) = (single, leader) {
                    self.failover(single, leader, fault, report).await?;
                }
            }
            Fault::Paused(single) => {
                let leader = self.machines.leader(single).await?.context("nobody leads")?;
                let stopped = hosts[leader.host].signal(single.role(), Signal::SIGSTOP).context("no process")?;
                let (done, ()) = tokio::join!(self.failover(single, leader, fault, report), sleep(PAUSE));
                kill(stopped, Signal::SIGCONT)?;
                done?;
            }
            Fault::HostLost | Fault::HostCut => {
                let mut leaders = Vec::new();
                for single in Single::ALL {
                    leaders.extend(self.machines.leader(single).await?.map(|leader| (single, leader)));
                }
                match fault {
                    Fault::HostLost => hosts[host].lose_power()?,
                    _ => hosts[host].machine.cut()?,
                }
                let cut = Instant::now();
                for (single, leader) in leaders.into_iter().filter(|(_, leader)| leader.host == host) {
                    self.failover_from(cut, single, leader, fault, report).await?;
                }
                sleep(hold.saturating_sub(cut.elapsed())).await;
                hosts[host].machine.mend()?;
            }
            Fault::PrimaryKilled => databases.primary().kill(),
            Fault::PrimaryCut => {
                let (before, machine) = (databases.roles().promotions, databases.primary().machine.clone());
                machine.cut()?;
                let cut = Instant::now();
                while databases.roles().promotions == before {
                    if cut.elapsed() > FAILOVER_LIMIT {
                        bail!("the standby is not promoted");
                    }
                    sleep(Duration::from_millis(50)).await;
                }
                sleep(hold.saturating_sub(cut.elapsed())).await;
                machine.mend()?;
            }
            Fault::StandbyKilled => databases.standby().kill(),
            Fault::Rolled => {
                for host in hosts {
                    for (role, process) in host.processes.iter().enumerate() {
                        let before = process.start_number();
                        host.signal(role, Signal::SIGTERM);
                        process.started_after(before, STOP_LIMIT).await?;
                    }
                    self.machines.ready().await?;
                }
            }
        }
        // Long enough to notice a death.
        sleep(Duration::from_secs(1)).await;
        self.machines.ready().await?;
        let since = Instant::now();
        for single in Single::ALL {
            while self.machines.leader(single).await?.is_none() {
                if since.elapsed() > FAILOVER_LIMIT {
                    bail!("{single:?}: nobody leads");
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    async fn failover(&self, single: Single, leader: Leader, fault: Fault, report: &mut Report) -> Result<()> {
        self.failover_from(Instant::now(), single, leader, fault, report).await
    }

    /// Waits until another connection has the lead.
    async fn failover_from(
        &self,
        since: Instant,
        single: Single,
        leader: Leader,
        fault: Fault,
        report: &mut Report,
    ) -> Result<()> {
        while self.machines.leader(single).await?.is_none_or(|now| now.backend == leader.backend) {
            if since.elapsed() > FAILOVER_LIMIT {
                bail!("{single:?}: nobody takes the lead over from {leader:?}");
            }
            sleep(Duration::from_millis(50)).await;
        }
        report.failovers.entry((single, fault.name())).or_default().push(since.elapsed());
        Ok(())
    }

    /// New calls through the edge, one after the other and each once: was somebody served?
    fn probe(&self, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        let (keys, agents) = (self.market.keys.clone(), self.market.agents.clone());
        let edge = Arc::new(callers::Market { base_urls: vec![self.machines.edge.clone()], keys, agents });
        let (client, notebook, served) = (self.client.clone(), Arc::clone(&self.notebook), Arc::clone(&self.served));
        async move {
            let mut probes = JoinSet::new();
            for number in 0_u64.. {
                if stop.run_until_cancelled(sleep(PROBE_EVERY)).await.is_none() {
                    break;
                }
                let (edge, client) = (Arc::clone(&edge), client.clone());
                let (notebook, served) = (Arc::clone(&notebook), Arc::clone(&served));
                probes.spawn(async move {
                    if probe(number, &edge, &client, &notebook).await {
                        served.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
                    }
                });
                while probes.try_join_next().is_some() {}
            }
            while probes.join_next().await.is_some() {}
        }
    }

    /// Reads through the edge, and names the slot that the answer before showed: no answer may be older.
    fn read(&self, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        let (reads, stale, edge) = (Arc::clone(&self.reads), Arc::clone(&self.stale), self.machines.edge.clone());
        async move {
            let client = reqwest::Client::builder().no_proxy().timeout(PROBE_LIMIT).build().expect("a client");
            let (mut seen, mut number) = (0_u64, 0_usize);
            while stop.run_until_cancelled(sleep(READ_EVERY)).await.is_some() {
                number += 1;
                let path = ["/v1/agents", "/v1/history"][number % 2];
                let request = client.get(format!("{edge}{path}")).header("x-indexed-slot", seen.to_string());
                let Ok(answer) = request.send().await else { continue };
                let slot = answer.headers().get("x-indexed-slot").and_then(|slot| slot.to_str().ok()?.parse().ok());
                let Some(slot) = slot.filter(|_: &u64| answer.status() == 200) else { continue };
                reads.fetch_add(1, Ordering::Relaxed);
                if slot < seen {
                    let details = format!("{path} showed slot {slot} after {seen}\n");
                    let rule = "a client that names the slot it saw gets no older answer";
                    stale.lock().unwrap_or_else(PoisonError::into_inner).push(Violation { rule, details });
                }
                seen = seen.max(slot);
            }
        }
    }

    /// The longest time between two calls that were served, from the last one before `from` on.
    fn gap_since(&self, from: Instant) -> Duration {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let first = served.iter().rposition(|at| *at <= from).unwrap_or(0);
        let times = served[first..].iter().copied().chain([Instant::now()]);
        let mut times: Vec<Instant> = times.collect();
        times.sort_unstable();
        times.windows(2).map(|two| two[1] - two[0]).max().unwrap_or_default()
    }

    async fn compare(&self, seed: u64, report: &mut Report) -> Result<()> {
        let openings = Openings::default();
        let checker = Checker {
            marketplace: &self.machines.marketplace,
            cast: &self.cast,
            notebook: &self.notebook,
            pool: &self.machines.pool,
            openings: &openings,
            receivers: &self.receivers,
            client: self.client.clone(),
        };
        // Of many records a sample is verified one by one; all are compared.
        let mut addresses: Vec<_> = checker.facts().await?.records.into_keys().collect();
        addresses.shuffle(&mut StdRng::seed_from_u64(seed));
        let left_out = addresses.len().saturating_sub(VERIFIED);
        let mut verified: HashSet<_> = addresses.drain(..left_out).collect();
        match checker.run(&mut verified).await {
            Ok((tally, violations)) => {
                report.tally = Tally { verified: tally.verified - left_out, ..tally };
                report.violations.extend(violations);
            }
            Err(error) => {
                let details = format!("{error:#}\n{}", self.machines.describe());
                report.violations.push(Violation { rule: "everything can be compared", details });
            }
        }
        Ok(())
    }

    async fn stop(self, report: &mut Report) {
        self.machines.pool.close().await;
        let Machines { hosts, up, databases, _edge, bucket, _network, .. } = self.machines;
        for host in hosts {
            for process in host.processes {
                if let Err(error) = process.stop(STOP_LIMIT).await {
                    let rule = "SIGTERM ends every process in time";
                    report.violations.push(Violation { rule, details: format!("{error:#}\n") });
                }
            }
        }
        let _ = up.stop(STOP_LIMIT).await;
        drop((databases, bucket));
    }
}

/// One call that only measures. Whether it was served.
async fn probe(number: u64, edge: &callers::Market, client: &Client, notebook: &Notebook) -> bool {
    let call = Call::honest(format!("probe-{number}"));
    notebook.meant(&call);
    let attempt = callers::send(&call, edge, client, 0, PROBE_LIMIT).await;
    let done = matches!(attempt.claim, Claim::Completed { .. });
    notebook.answered(&call.task, attempt);
    done
}
