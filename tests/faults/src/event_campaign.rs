//! The event log under kills: calls are written as fast as PostgreSQL takes them, processes number their events, others
//! deliver them, and all of these and PostgreSQL are killed again and again. Receivers prove that they have every event
//! once, in order, without a hole.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use crtx_postgres::Cluster;
use crtx_store::{
    PgPool, events, mirror,
    testing::{
        calls,
        fixtures::{addresses, listing, show, wallet},
    },
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    sync::{mpsc, watch},
    task::JoinSet,
    time::sleep,
};
use uuid::Uuid;

use crate::postgres::PostgresServer;

#[derive(Clone, Debug)]
pub struct Options {
    pub events: u64,
    pub kills: usize,
    pub seed: u64,
    /// The program that runs as `number URL` and `deliver URL`.
    pub program: PathBuf,
}

/// What a campaign found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub events: u64,
    pub kills: usize,
    /// Of PostgreSQL, among them.
    pub databases: usize,
    pub took: Duration,
}

const CALLERS: u8 = 4;
const CREATOR: u8 = 30;
const NUMBERING: usize = 2;
/// Each call: opened, running and completed for its caller, and a payout.
const EVENTS_PER_CALL: u64 = 4;
const CALLS_AT_ONCE: i64 = 25;
/// Every kill with such a number ends PostgreSQL.
const DATABASE_EVERY: usize = 10;
const LIMIT: Duration = Duration::from_secs(120);

/// Numbers events until it is killed, as an indexer does.
pub async fn number(url: &str) -> Result<()> {
    loop {
        if let Ok(pool) = crtx_store::testing::connect(url, 1).await {
            while let Ok(numbered) = events::number(&pool).await {
                if numbered == 0 {
                    sleep(Duration::from_millis(5)).await;
                }
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Writes what follows the number that its first line names, event by event, until it is killed, as a process of the API
/// does.
pub async fn deliver(url: &str, of: u8) -> Result<()> {
    let mut first = String::new();
    BufReader::new(tokio::io::stdin()).read_line(&mut first).await?;
    let mut after: u64 = first.trim().parse()?;
    let mut out = tokio::io::stdout();
    loop {
        if let Ok(pool) = crtx_store::testing::connect(url, 1).await {
            while let Ok(mut connection) = pool.acquire().await {
                let Ok(page) = events::page(&mut connection, &wallet(of), after, &[], 500).await else { break };
                drop(connection);
                for event in &page.events {
                    let line = format!("{}\n", serde_json::to_string(event)?);
                    out.write_all(line.as_bytes()).await?;
                }
                out.flush().await?;
                after = page.through;
                if page.events.is_empty() {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// What a receiver has of one wallet.
#[derive(Default)]
struct Received {
    events: u64,
    last: Option<Uuid>,
    /// How many events came of each execution.
    executions: HashMap<Uuid, usize>,
}

const STEPS: [&str; 3] = ["execution.opened", "execution.running", "execution.completed"];

impl Received {
    fn take(&mut self, line: &str) -> Result<()> {
        let event: serde_json::Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let id = |name: &str| event[name].as_str().and_then(|id| id.parse::<Uuid>().ok());
        self.events += 1;
        ensure!(event["sequence"] == self.events, "a hole before event {}: {line}", self.events);
        ensure!(id("previous") == self.last, "another event than {:?} came before {line}", self.last);
        self.last = id("id");
        if let Some(execution) = id("execution_id") {
            let step = self.executions.entry(execution).or_default();
            let expected =
                if event["type"] == "payout" { "payout" } else { STEPS.get(*step).copied().unwrap_or("none") };
            ensure!(event["type"] == expected, "{expected} was to come: {line}");
            *step += 1;
        }
        Ok(())
    }
}

struct Delivering {
    of: u8,
    child: Child,
    _input: ChildStdin,
}

pub async fn run(options: &Options) -> Result<Report> {
    let started = Instant::now();
    let folder = crtx_e2e::folder();
    let say = |text: &str| eprintln!("{text}");
    let cluster = Cluster::start(folder.path(), &say).await?;
    cluster.begin_syncing().await?;
    let url = cluster.url();
    let pool = crtx_store::testing::connect(&url, 6).await?;
    crtx_store::migrate(&pool).await?;
    mirror::snapshot_applied(&pool, 1, None).await?;
    show(&pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let per_caller = i64::try_from(options.events / EVENTS_PER_CALL / u64::from(CALLERS))?;
    let expected = u64::try_from(per_caller)? * u64::from(CALLERS) * EVENTS_PER_CALL + 2;

    let mut writers = JoinSet::new();
    for caller in 1..=CALLERS {
        writers.spawn(write(pool.clone(), caller, per_caller));
    }
    let mut numbering = Vec::new();
    for _ in 0..NUMBERING {
        numbering.push(spawn(options, &["number", &url])?);
    }
    let (lines, mut incoming) = mpsc::channel(10_000);
    let mut received: HashMap<u8, Received> = HashMap::new();
    let mut delivering = Vec::new();
    for of in (1..=CALLERS).chain([CREATOR]) {
        received.insert(of, Received::default());
        delivering.push(deliver_from(options, &url, of, 0, &lines).await?);
    }

    let total = Arc::new(AtomicU64::new(0));
    let (stopped, mut ask) = watch::channel(false);
    let databases = tokio::spawn({
        let folder = folder.path().to_owned();
        let mut cluster = cluster;
        async move {
            // It is started again whenever it ends.
            loop {
                tokio::select! {
                    _ = cluster.ended() => cluster = start_again(&folder).await?,
                    _ = ask.changed() => return cluster.stop().await.map(drop),
                }
            }
        }
    });
    let mut random = StdRng::seed_from_u64(options.seed);
    let (mut kills, mut database_kills, mut at) = (0, 0, Instant::now());
    let server = PostgresServer::of(folder.path());
    let mut shown = Instant::now();
    while total.load(Ordering::Relaxed) < expected {
        ensure!(
            at.elapsed() < LIMIT,
            "nothing came for {} s: {} of {expected} events",
            LIMIT.as_secs(),
            total.load(Ordering::Relaxed)
        );
        while let Ok(Some((of, number, line))) = tokio::time::timeout(Duration::from_millis(20), incoming.recv()).await
        {
            let log = received.get_mut(&of).context("a wallet of the campaign")?;
            // A process that was killed may have written more than was read of it.
            if number == log.events + 1 {
                log.take(&line)?;
                total.fetch_add(1, Ordering::Relaxed);
                at = Instant::now();
            }
            let due = expected * u64::try_from(kills + 1)? / u64::try_from(options.kills + 1)?;
            if total.load(Ordering::Relaxed) >= due {
                break;
            }
        }
        let so_far = total.load(Ordering::Relaxed);
        let due = expected * u64::try_from(kills + 1)? / u64::try_from(options.kills + 1)?;
        if so_far >= due && kills < options.kills {
            kills += 1;
            if kills % DATABASE_EVERY == 0 {
                database_kills += usize::from(server.kill());
            } else if random.random_bool(0.5) {
                let place = random.random_range(0..numbering.len());
                numbering[place].kill().await?;
                numbering[place] = spawn(options, &["number", &url])?;
            } else {
                let place = random.random_range(0..delivering.len());
                let of = delivering[place].of;
                delivering[place].child.kill().await?;
                delivering[place] = deliver_from(options, &url, of, received[&of].events, &lines).await?;
            }
        }
        if shown.elapsed() > Duration::from_secs(10) {
            shown = Instant::now();
            eprintln!("{so_far} of {expected} events, {kills} kills, {} s", started.elapsed().as_secs());
        }
    }
    while let Some(done) = writers.join_next().await {
        done?;
    }
    for (of, log) in &received {
        let steps = if *of == CREATOR { 1 } else { STEPS.len() };
        ensure!(log.executions.values().all(|count| *count == steps), "an execution has more or fewer events");
    }
    ensure!(events::waiting(&pool).await?.0 == 0, "events are left that nobody numbered");
    pool.close().await;
    drop((numbering, delivering));
    stopped.send(true)?;
    databases.await??;
    Ok(Report { events: expected, kills, databases: database_kills, took: started.elapsed() })
}

async fn start_again(folder: &Path) -> Result<Cluster> {
    let began = Instant::now();
    loop {
        match Cluster::start(folder, &|_| {}).await {
            Ok(cluster) => return Ok(cluster),
            Err(error) => ensure!(began.elapsed() < LIMIT, "PostgreSQL does not start again: {error:#}"),
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Writes all calls of one caller, whatever happens to the database.
async fn write(pool: PgPool, caller: u8, calls: i64) {
    let agent = addresses().agent(&wallet(CREATOR), 0);
    for first in (1..=calls).step_by(usize::try_from(CALLS_AT_ONCE).expect("positive")) {
        let last = calls.min(first + CALLS_AT_ONCE - 1);
        while calls::pay(&pool, &wallet(caller), &agent, first, last).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    }
}

fn spawn(options: &Options, arguments: &[&str]) -> Result<Child> {
    Ok(Command::new(&options.program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?)
}

/// Starts a process that delivers what follows `after`, and passes its whole lines on with their numbers.
async fn deliver_from(
    options: &Options,
    url: &str,
    of: u8,
    after: u64,
    lines: &mpsc::Sender<(u8, u64, String)>,
) -> Result<Delivering> {
    let mut child = spawn(options, &["deliver", url, &of.to_string()])?;
    let mut input = child.stdin.take().context("its input")?;
    input.write_all(format!("{after}\n").as_bytes()).await?;
    input.flush().await?;
    let (output, lines) = (child.stdout.take().context("its output")?, lines.clone());
    tokio::spawn(async move {
        let mut output = BufReader::new(output);
        for number in after + 1.. {
            let mut line = String::new();
            // The last line of a killed process may be cut off.
            let whole = output.read_line(&mut line).await.is_ok_and(|_| line.ends_with('\n'));
            if !whole || lines.send((of, number, line)).await.is_err() {
                return;
            }
        }
    });
    Ok(Delivering { of, child, _input: input })
}
