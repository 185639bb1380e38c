//! The event log under kills: calls are written as fast as PostgreSQL takes them, while `crtx-server` processes number their
//! events, stream them and send them to webhooks, and these processes and PostgreSQL are killed again and again. Receivers of
//! streams and of webhooks prove that they have every event once, in order, without a hole.

use std::{
    collections::{BTreeMap, HashMap},
    net::Ipv4Addr,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use axum::{Router, body::Bytes, extract, http::HeaderMap, http::StatusCode, routing};
use crtx_e2e::{
    server::without_services,
    streams::{OpenStream, session_of},
};
use crtx_postgres::PostgresCluster;
use crtx_protocol::{
    result_hash::ResultHash,
    webhook::{WebhookSecret, signed_content},
};
use crtx_store::{
    PgPool, events,
    testing::{calls, fixtures::wallet, tampering::text_of},
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::sleep};
use uuid::Uuid;

use crate::{postgres::PostgresServer, process::Process, world::START_LIMIT};

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub events: u64,
    pub kills: usize,
    pub seed: u64,
}

/// What a campaign found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub events: u64,
    /// Deliveries to webhooks that came again.
    pub repeated: u64,
    pub kills: usize,
    /// Of PostgreSQL, among them.
    pub databases: usize,
    /// Of workers, among them.
    pub workers: usize,
    pub took: Duration,
}

const CALLERS: u8 = 4;
/// Each call: opened, running and completed for its caller, and a payout.
const EVENTS_PER_CALL: u64 = 4;
const CALLS_AT_ONCE: i64 = 25;
const PROCESSES: [(&str, &str); 6] = [
    ("api-1", "api"),
    ("api-2", "api"),
    ("indexer-1", "indexer"),
    ("indexer-2", "indexer"),
    ("worker-1", "worker"),
    ("worker-2", "worker"),
];
const WORKERS: usize = 2;
/// Every kill with such a number ends PostgreSQL.
const DATABASE_EVERY: usize = 10;
/// Of these kills the fifth ends a worker. The webhooks of a dead worker wait up to 30 s for the other one.
const WORKER_EVERY: usize = 20;
const POLL: Duration = Duration::from_millis(50);
const LIMIT: Duration = Duration::from_secs(120);

/// The events of one wallet, as one receiver has them.
#[derive(Default)]
struct Received {
    /// Number of each event, its id and the one before it.
    events: BTreeMap<u64, (Uuid, Option<Uuid>)>,
    /// How many events came of each execution.
    executions: HashMap<Uuid, usize>,
}

const STEPS: [&str; 3] = ["execution.opened", "execution.running", "execution.completed"];

impl Received {
    /// An event that has not come before.
    fn take(&mut self, event: &Value) -> Result<()> {
        let id = |name: &str| event[name].as_str().and_then(|id| id.parse::<Uuid>().ok());
        let number = event["sequence"].as_u64().context("a number")?;
        let before = self.events.insert(number, (id("id").context("an id")?, id("previous")));
        ensure!(before.is_none(), "two events have this number: {event}");
        if let Some(execution) = id("execution_id") {
            let step = self.executions.entry(execution).or_default();
            let expected =
                if event["type"] == "payout" { "payout" } else { STEPS.get(*step).copied().unwrap_or("none") };
            ensure!(event["type"] == expected, "{expected} was to come: {event}");
            *step += 1;
        }
        Ok(())
    }

    fn last(&self) -> u64 {
        self.events.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// No number is missing after the first one, and each event names the one before it.
    fn is_whole(&self) -> Result<()> {
        for ((number, (id, _)), (next, (_, previous))) in self.events.iter().zip(self.events.iter().skip(1)) {
            ensure!(number + 1 == *next && *previous == Some(*id), "event {next} came after {number}: {previous:?}");
        }
        Ok(())
    }
}

/// A receiver, which counts for all.
struct Receiver {
    wallet: Pubkey,
    token: String,
    stream: Mutex<Received>,
    webhook: Mutex<Webhook>,
    /// Of all receivers.
    total: Arc<AtomicU64>,
}

#[derive(Default)]
struct Webhook {
    secret: Option<WebhookSecret>,
    received: Received,
    /// The hash of the body of each event.
    bodies: HashMap<String, ResultHash>,
    repeated: u64,
    problem: Option<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Receiver {
    /// Follows the stream, from the last event on whenever it breaks off. Ends with an error only.
    async fn follow(self: Arc<Self>, apis: Vec<String>) -> Result<()> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        for base_url in apis.iter().cycle() {
            let after = locked(&self.stream).last();
            let opened = OpenStream::open(&http, format!("{base_url}/v1/events/stream"), &self.token, after).await;
            if let Ok(mut stream) = opened {
                while let Some(event) = stream.next().await {
                    let mut received = locked(&self.stream);
                    ensure!(event.sequence == received.last() + 1, "a hole before {event:?}");
                    received.take(&event.data)?;
                    self.total.fetch_add(1, Ordering::Relaxed);
                }
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// A delivery. The same event can come again, with the same bytes.
    fn deliver(&self, headers: &HeaderMap, body: &[u8]) -> Result<()> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).context("a header");
        let (id, time) = (header("webhook-id")?, header("webhook-timestamp")?.parse()?);
        let mut webhook = locked(&self.webhook);
        let signature = webhook.secret.as_ref().map(|secret| secret.sign(&signed_content(id, time, body)));
        ensure!(header("webhook-signature")?.split(' ').next() == signature.as_deref(), "another signature of {id}");
        let hash = ResultHash::of(body);
        if let Some(before) = webhook.bodies.insert(id.to_owned(), hash) {
            ensure!(before.0 == hash.0, "other bytes of {id}");
            webhook.repeated += 1;
            return Ok(());
        }
        let event: Value = serde_json::from_slice(body)?;
        ensure!(event["id"] == id, "{id} is another event: {event}");
        webhook.received.take(&event)?;
        self.total.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Serves the targets of all webhooks; each has its place as path.
async fn serve_targets(receivers: Vec<Arc<Receiver>>) -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let target = async move |extract::Path(place): extract::Path<usize>, headers: HeaderMap, body: Bytes| {
        let receiver = &receivers[place];
        match receiver.deliver(&headers, &body) {
            Ok(()) => StatusCode::NO_CONTENT,
            Err(error) => {
                locked(&receiver.webhook).problem.get_or_insert(format!("{error:#}"));
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    };
    let router = Router::new().route("/{place}", routing::post(target));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

async fn create_webhook(api: &str, receiver: &Receiver, url: String) -> Result<()> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let request = http.post(format!("{api}/v1/webhooks")).bearer_auth(&receiver.token).json(&json!({"url": url}));
    let created: Value = request.send().await?.error_for_status()?.json().await?;
    locked(&receiver.webhook).secret = Some(created["secret"].as_str().context("a secret")?.parse()?);
    Ok(())
}

pub async fn run(options: &Options, logs: &Path) -> Result<Report> {
    let started = Instant::now();
    std::fs::create_dir_all(logs)?;
    let (_network_folder, mut up) = without_services().await?;
    let info = up.info().clone();
    let folder = crtx_e2e::folder();
    let cluster = PostgresCluster::start(folder.path(), &|text: &str| eprintln!("{text}")).await?;
    cluster.begin_syncing().await?;
    let url = cluster.url();
    let pool = crtx_store::testing::connect(&url, 8).await?;
    crtx_store::migrate(&pool).await?;
    let (mut processes, mut base_urls) = (Vec::new(), Vec::new());
    for (name, roles) in PROCESSES {
        let set = vec![("CRTX_DATABASE_URL", url.clone())];
        let (process, base_url) = Process::server(name, roles, &info.server_config, logs, set)?;
        processes.push(process);
        base_urls.push(base_url);
    }
    for process in &processes {
        process.ready(START_LIMIT).await?;
    }
    let agent: Pubkey = info.agents.first().context("an agent")?.agent_id.parse()?;
    let listed = format!("SELECT count(*)::text FROM mirror_agents WHERE address = '{agent}'");
    while text_of(&pool, &listed).await == "0" {
        ensure!(started.elapsed() < LIMIT, "the indexer does not show the agent");
        sleep(POLL).await;
    }
    let creator = text_of(&pool, &format!("SELECT creator FROM mirror_agents WHERE address = '{agent}'")).await;

    let total = Arc::new(AtomicU64::new(0));
    let mut receivers = Vec::new();
    for wallet in (1..=CALLERS).map(wallet).chain([creator.parse()?]) {
        let token = session_of(&pool, wallet).await;
        let (stream, webhook, total) = (Mutex::default(), Mutex::default(), Arc::clone(&total));
        receivers.push(Arc::new(Receiver { wallet, token, stream, webhook, total }));
    }
    let targets = serve_targets(receivers.clone()).await?;
    for (place, receiver) in receivers.iter().enumerate() {
        create_webhook(&base_urls[0], receiver, format!("{targets}/{place}")).await?;
    }
    let per_caller = i64::try_from(options.events / EVENTS_PER_CALL / u64::from(CALLERS))?;
    let expected = u64::try_from(per_caller)? * u64::from(CALLERS) * EVENTS_PER_CALL;
    let mut working = JoinSet::new();
    let apis: Vec<String> = base_urls.iter().take(2).cloned().collect();
    for receiver in &receivers {
        working.spawn(Arc::clone(receiver).follow(apis.clone()));
    }
    let mut writers = JoinSet::new();
    for caller in 1..=CALLERS {
        writers.spawn(write(pool.clone(), caller, agent, per_caller));
    }

    let (stopped, ask) = watch::channel(false);
    let databases = tokio::spawn(keep_running(cluster, folder.path().to_owned(), ask));
    let mut random = StdRng::seed_from_u64(options.seed);
    let mut report = Report { events: expected, ..Report::default() };
    let server = PostgresServer::of(folder.path());
    let (mut seen, mut at, mut shown) = (0, Instant::now(), Instant::now());
    // Each event comes by a stream and by a webhook.
    while total.load(Ordering::Relaxed) < expected * 2 {
        sleep(Duration::from_millis(5)).await;
        let so_far = total.load(Ordering::Relaxed);
        if so_far > seen {
            (seen, at) = (so_far, Instant::now());
        }
        ensure!(at.elapsed() < LIMIT, "nothing came for {} s: {so_far} of {} came", LIMIT.as_secs(), expected * 2);
        if let Some(ended) = working.try_join_next() {
            ended??;
        }
        for receiver in &receivers {
            let problem = locked(&receiver.webhook).problem.take();
            ensure!(problem.is_none(), "webhook of {}: {problem:?}", receiver.wallet);
        }
        let due = expected * 2 * u64::try_from(report.kills + 1)? / u64::try_from(options.kills + 1)?;
        if so_far >= due && report.kills < options.kills {
            report.kills += 1;
            if report.kills.is_multiple_of(DATABASE_EVERY) {
                report.databases += usize::from(server.kill());
            } else if report.kills % WORKER_EVERY == 5 {
                report.workers += usize::from(processes[PROCESSES.len() - 1 - random.random_range(0..WORKERS)].kill());
            } else {
                processes[random.random_range(0..PROCESSES.len() - WORKERS)].kill();
            }
        }
        if shown.elapsed() > Duration::from_secs(10) {
            shown = Instant::now();
            eprintln!("{so_far} of {} came, {} kills, {} s", expected * 2, report.kills, started.elapsed().as_secs());
        }
    }
    while let Some(done) = writers.join_next().await {
        done?;
    }
    ensure!(events::waiting(&pool).await?.0 == 0, "events are left that nobody numbered");
    for receiver in &receivers {
        let (stream, webhook) = (locked(&receiver.stream), locked(&receiver.webhook));
        let steps = if receiver.wallet.to_string() == creator { 1 } else { STEPS.len() };
        for received in [&*stream, &webhook.received] {
            received.is_whole()?;
            ensure!(received.executions.values().all(|count| *count == steps), "an execution has more or fewer events");
        }
        report.repeated += webhook.repeated;
    }
    working.abort_all();
    pool.close().await;
    for process in processes {
        process.stop(START_LIMIT).await?;
    }
    stopped.send(true)?;
    databases.await??;
    up.stop().await?;
    report.took = started.elapsed();
    Ok(report)
}

/// Starts PostgreSQL again whenever it ends, until it is asked to stop.
async fn keep_running(
    mut cluster: PostgresCluster,
    folder: std::path::PathBuf,
    mut ask: watch::Receiver<bool>,
) -> Result<()> {
    loop {
        tokio::select! {
            _ = cluster.ended() => cluster = start_again(&folder).await?,
            _ = ask.changed() => return cluster.stop().await.map(drop),
        }
    }
}

async fn start_again(folder: &Path) -> Result<PostgresCluster> {
    let began = Instant::now();
    loop {
        match PostgresCluster::start(folder, &|_| {}).await {
            Ok(cluster) => return Ok(cluster),
            Err(error) => ensure!(began.elapsed() < LIMIT, "PostgreSQL does not start again: {error:#}"),
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Writes all calls of one caller, whatever happens to the database.
async fn write(pool: PgPool, caller: u8, agent: Pubkey, calls: i64) {
    for first in (1..=calls).step_by(usize::try_from(CALLS_AT_ONCE).expect("positive")) {
        let last = calls.min(first + CALLS_AT_ONCE - 1);
        while calls::pay(&pool, &wallet(caller), &agent, first, last).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    }
}
