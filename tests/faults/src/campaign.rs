//! The crash campaign: a marketplace, callers, and faults on top, in rounds; after each round everything is
//! compared. A violation ends the campaign with its seed and its report.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use crtx_store::PgPool;
use solana_pubkey::Pubkey;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    callers,
    cast::{CHANGING, CHANGING_PRICES, Cast},
    check::{Checker, Openings, Tally, Violation},
    client::Client,
    inject,
    notes::Notebook,
    plan::{Call, Calls, Fault, Track, faults},
    receivers::Receivers,
    report::Report,
    world::{START_LIMIT, World},
};

/// Gateways in addition to that of `crtx up`.
const GATEWAYS: usize = 2;
const CALLERS: usize = 10;
/// Faults between two comparisons.
const ROUND: usize = 100;
/// How long the whole service may need to work again once nothing is broken any more.
const RECOVERY_LIMIT: Duration = Duration::from_secs(45);
/// How long any process may take to end after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(40);
const CALL_LIMIT: Duration = Duration::from_secs(15);
/// A campaign in which fewer calls come through for each fault proves little.
const FEWEST_COMPLETED_PER_FAULT: usize = 1;

#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    pub faults: usize,
    /// Logs and, if something is wrong, the data are kept here.
    pub folder: PathBuf,
}

/// Runs a campaign. Fails only where it could not be carried out; violations are in the report.
pub async fn run(options: &Options) -> Result<Report> {
    let started = Instant::now();
    let folder = crtx_e2e::folder();
    let logs = options.folder.join(format!("seed-{}", options.seed));
    if logs.exists() {
        std::fs::remove_dir_all(&logs)?;
    }
    let mut campaign = Campaign::start(options, folder.path(), &logs).await?;
    let outcome = campaign.rounds(options).await;
    let mut report = campaign.end(outcome).await;
    report.took = started.elapsed();
    report.logs.clone_from(&logs);
    if !report.violations.is_empty() {
        std::fs::write(logs.join("violations.txt"), report.violations_text(usize::MAX))?;
        report.kept = Some(folder.keep());
    }
    Ok(report)
}

struct Campaign {
    world: World,
    cast: Cast,
    pool: PgPool,
    notebook: Arc<Notebook>,
    market: Arc<callers::Market>,
    client: Client,
    verified: HashSet<Pubkey>,
    openings: Openings,
    receivers: Receivers,
}

/// What the rounds brought.
#[derive(Default)]
struct Outcome {
    tally: Tally,
    violations: Vec<Violation>,
}

impl Campaign {
    async fn start(options: &Options, folder: &Path, logs: &Path) -> Result<Self> {
        let world = World::start(folder, logs, GATEWAYS).await?;
        let info = world.info()?;
        let pool = crtx_store::testing::connect(&info.database_url, 4).await?;
        let cast = Cast::assemble(&world, &pool, options.seed).await?;
        let market = callers::Market {
            base_urls: world.base_urls()?,
            keys: cast.keys.iter().map(|(_, key)| key.reveal()).collect(),
            agents: cast.agents.iter().map(|agent| agent.address.to_string()).collect(),
        };
        let receivers = Receivers::of(&cast);
        Ok(Self {
            world,
            cast,
            pool,
            notebook: Arc::default(),
            market: Arc::new(market),
            client: Client::new()?,
            verified: HashSet::new(),
            openings: Openings::default(),
            receivers,
        })
    }

    async fn rounds(&mut self, options: &Options) -> Outcome {
        let planned = faults(options.seed, options.faults, GATEWAYS);
        let mut outcome = Outcome::default();
        for (round, faults) in planned.chunks(ROUND).enumerate() {
            eprintln!("=== round {}: {} faults, seed {}", round + 1, faults.len(), options.seed);
            if let Err(error) = self.round(options.seed, round, faults).await {
                let details = format!("{error:#}\n{}", self.world.processes());
                outcome.violations.push(Violation { rule: "the service comes back after a fault", details });
            }
            outcome.violations.extend(self.recovers().await);
            eprintln!("=== round {}: comparing", round + 1);
            let checker = Checker {
                marketplace: &self.world,
                cast: &self.cast,
                notebook: &self.notebook,
                pool: &self.pool,
                openings: &self.openings,
                receivers: &self.receivers,
                client: self.client.clone(),
            };
            match checker.run(&mut self.verified).await {
                Ok((tally, violations)) => {
                    outcome.tally = tally;
                    outcome.violations.extend(violations);
                }
                Err(error) => {
                    let details = format!("{error:#}\n{}", self.world.processes());
                    outcome.violations.push(Violation { rule: "everything can be compared", details });
                }
            }
            eprintln!("=== round {}: {:?}, {} violations", round + 1, outcome.tally, outcome.violations.len());
            if !outcome.violations.is_empty() {
                break;
            }
        }
        outcome
    }

    /// Callers call while the faults of all tracks happen; both have ended when this returns.
    async fn round(&self, seed: u64, round: usize, planned: &[Fault]) -> Result<()> {
        let stop = CancellationToken::new();
        let callers = Mutex::new(JoinSet::new());
        for caller in 0..CALLERS {
            self.call(&callers, self.calls(seed, round, caller), &stop);
        }
        // A fault that ends processes meets many calls under way.
        let before = async |fault: &Fault| {
            for call in self.calls(seed, round, CALLERS + fault.number).take(fault.burst) {
                let gateway = fault.gateway().unwrap_or(call.gateway);
                self.call(&callers, std::iter::once(Call { gateway, think: Duration::ZERO, ..call }), &stop);
            }
            if fault.burst > 0 {
                tokio::time::sleep(fault.after_burst).await;
            }
        };
        let mut tracks: BTreeMap<Track, Vec<Fault>> = BTreeMap::new();
        for fault in planned {
            tracks.entry(fault.track()).or_default().push(*fault);
        }
        let notebook = &self.notebook;
        let progress = |happened: &crate::notes::Happened| eprint!("{}", notebook.line(happened));
        let tracks = tracks.values().map(|faults| inject::track(&self.world, notebook, faults, before, progress));
        let done = tokio::select! {
            done = futures::future::try_join_all(tracks) => done.map(drop),
            () = self.change_prices() => Ok(()),
            () = self.receivers.follow(&self.client, &self.market.base_urls) => Ok(()),
        };
        stop.cancel();
        let mut callers = callers.into_inner().unwrap_or_else(PoisonError::into_inner);
        while callers.join_next().await.is_some() {}
        done
    }

    /// The planned calls of one caller.
    fn calls(&self, seed: u64, round: usize, caller: usize) -> Calls {
        Calls::new(seed, round, caller, self.cast.keys.len(), self.cast.agents.len(), self.market.base_urls.len())
    }

    /// Lets a caller make these calls in a task of its own.
    fn call(
        &self,
        callers: &Mutex<JoinSet<()>>,
        calls: impl Iterator<Item = Call> + Send + 'static,
        stop: &CancellationToken,
    ) {
        let (market, client, notebook) = (Arc::clone(&self.market), self.client.clone(), Arc::clone(&self.notebook));
        let task = callers::run(calls, market, client, notebook, stop.clone());
        callers.lock().unwrap_or_else(PoisonError::into_inner).spawn(task);
    }

    /// The price of one agent changes all the time. Never returns.
    async fn change_prices(&self) {
        for price in CHANGING_PRICES.iter().cycle() {
            tokio::time::sleep(Duration::from_millis(1_700)).await;
            // Fails while the chain is down, and is tried again.
            if let Ok(chain) = self.world.chain() {
                let agent = &self.cast.agents[CHANGING].address;
                let _ = chain.set_price(&self.cast.creator_wallet, agent, *price).await;
            }
        }
    }

    /// With nothing broken any more, each gateway takes and settles a call.
    async fn recovers(&self) -> Vec<Violation> {
        let rule = "the service works again once nothing is broken any more";
        let mut violations = Vec::new();
        for process in std::iter::once(&self.world.up).chain(self.world.gateways.iter().map(|gateway| &gateway.process))
        {
            if let Err(error) = process.ready(START_LIMIT).await {
                violations.push(Violation { rule, details: format!("{error:#}\n") });
            }
        }
        for number in 0..self.market.base_urls.len() {
            if let Err(error) = self.takes_a_call(number).await {
                let details = format!("gateway {number}: {error:#}\n");
                violations.push(Violation { rule, details });
            }
        }
        violations
    }

    async fn takes_a_call(&self, gateway: usize) -> Result<()> {
        let started = Instant::now();
        loop {
            let call = Call::honest(format!("recovery-{gateway}-{}", self.notebook.at(Instant::now()).as_micros()));
            self.notebook.meant(&call);
            let attempt = callers::send(&call, &self.market, &self.client, gateway, CALL_LIMIT).await;
            let (reply, done) = (attempt.reply.clone(), matches!(attempt.claim, crate::notes::Claim::Completed { .. }));
            self.notebook.answered(&call.task, attempt);
            if done {
                return Ok(());
            }
            if started.elapsed() > RECOVERY_LIMIT {
                bail!("no call comes through for {} s: {reply:?}", RECOVERY_LIMIT.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Stops every process, which has to be possible in time.
    async fn end(self, outcome: Outcome) -> Report {
        let Outcome { tally, mut violations } = outcome;
        let faults = self.notebook.faults();
        if violations.is_empty() && tally.completed < faults.len() * FEWEST_COMPLETED_PER_FAULT {
            let details = format!("{} calls were completed during {} faults\n", tally.completed, faults.len());
            violations
                .push(Violation { rule: "enough calls come through for the campaign to prove something", details });
        }
        self.pool.close().await;
        let World { up, gateways, .. } = self.world;
        for process in gateways.into_iter().map(|gateway| gateway.process).chain([up]) {
            if let Err(error) = process.stop(STOP_LIMIT).await {
                violations
                    .push(Violation { rule: "SIGTERM ends every process in time", details: format!("{error:#}\n") });
            }
        }
        Report::new(&faults, &self.notebook.calls(), tally, violations)
    }
}
