//! Every link of the marketplace, broken in every way: what callers are answered meanwhile, and that the services recover by
//! themselves. The rows run at the same time, each with a process of its own whose link is broken; the cells of a row one
//! after the other. The table in docs/reliability.md says what a caller sees.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    collections::{BTreeMap, HashSet},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    str::FromStr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use axum::{Router, body::Bytes, http::HeaderMap};
use crtx_content::{BucketSettings, ContentLocation, ContentStore, testing::S3Server};
use crtx_e2e::{Info, Up, crtx_binary, market::Market, session::Session};
use crtx_faults::{
    callers::{self, send},
    cast::Cast,
    check::{Checker, Openings},
    client::{Client, Reply},
    creator::Behaviour,
    link::{Broken, Link, Target, Wire},
    market::Listing,
    notes::{Attempt, Claim, Notebook},
    plan::Call,
    process::Process,
    receivers::Receivers,
    rpc_proxy::RpcProxy,
    world::{GRACE, Marketplace, START_LIMIT},
};
use crtx_store::PgPool;
use futures::future::{join_all, try_join_all};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use tokio::{
    process::Command,
    sync::watch,
    time::{sleep, timeout},
};

const SEED: u64 = 20_261_128;
/// A link stays broken until the first call is answered, but not for longer.
const HOLD: Duration = Duration::from_secs(3);
/// A connection that nobody used for longer is not used again, so a creator's link is broken for longer than that.
const LONGER_THAN_IDLE: Duration = Duration::from_secs(6);
/// Every call is answered by then, whatever is broken.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Everything works again by then.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
/// Calls that a half-open database meets.
const UNDER_WAY: usize = 8;
const POLL: Duration = Duration::from_millis(100);

/// The processes, as indexes of [`callers::Market`].
const WHOLE: usize = 0;
const RPC: usize = 1;
const POSTGRES: usize = 2;
const CONTENT: usize = 3;

/// The agent whose price changes, and the one behind the creator's link.
const PRICED: usize = 3;
const LINKED: usize = 4;

/// One link, and the calls that use it.
struct Row {
    name: &'static str,
    link: Link,
    gateway: usize,
    key: usize,
    agent: usize,
}

/// Deliveries of a webhook: its id and its body, in their order.
type Deliveries = Arc<Mutex<Vec<(String, Value)>>>;

struct Matrix {
    marketplace: Marketplace,
    cast: Cast,
    pool: PgPool,
    market: Arc<callers::Market>,
    client: Client,
    notebook: Arc<Notebook>,
    receivers: Receivers,
    deliveries: Deliveries,
    rows: Vec<Row>,
    processes: Vec<Process>,
    /// Ends last.
    up: Up,
    _bucket: S3Server,
    _node: RpcProxy,
}

fn tcp(url: &str) -> Result<Target> {
    let address = url.rsplit("//").next().context("an address")?.trim_end_matches('/');
    Ok(Target::Tcp(SocketAddr::from_str(address)?))
}

/// The socket of the database.
fn socket(database_url: &str) -> Result<Target> {
    let options = PgConnectOptions::from_str(database_url)?;
    let folder = options.get_socket().context("crtx up listens on a socket")?;
    Ok(Target::Unix(folder.join(format!(".s.PGSQL.{}", options.get_port()))))
}

/// A target of webhooks that takes everything.
async fn receiver() -> Result<(Target, Deliveries)> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let deliveries = Deliveries::default();
    let got = Arc::clone(&deliveries);
    let router = Router::new().fallback(move |headers: HeaderMap, body: Bytes| async move {
        let id = headers["webhook-id"].to_str().unwrap().to_owned();
        got.lock().unwrap().push((id, serde_json::from_slice(&body).unwrap()));
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((Target::Tcp(address), deliveries))
}

/// The configuration that `crtx up` wrote, with content in the bucket.
fn configuration(info: &Info, bucket: &BucketSettings, folder: &Path) -> Result<std::path::PathBuf> {
    let (id, secret) = bucket.credentials.clone().context("a key")?;
    let content = format!(
        "s3_bucket = \"{}\"\ns3_prefix = \"{}\"\ns3_endpoint = \"{}\"\ns3_access_key_id = \"{id}\"\n\
         s3_secret_access_key = \"{secret}\"\n",
        bucket.name,
        bucket.prefix,
        bucket.endpoint.clone().context("an endpoint")?
    );
    let text = std::fs::read_to_string(&info.server_config)?;
    let lines = text.split_inclusive('\n').map(|line| if line.starts_with("dir = ") { content.as_str() } else { line });
    let path = folder.join("matrix.toml");
    std::fs::write(&path, lines.collect::<String>())?;
    Ok(path)
}

impl Matrix {
    async fn start(folder: &Path, logs: &Path) -> Result<Self> {
        std::fs::create_dir_all(logs)?;
        let data_dir = folder.join("data");
        let mut command = Command::new(crtx_binary());
        command.args(["up", "--json", "--services", "none", "--settle-grace", GRACE, "--data-dir"]).arg(&data_dir);
        command.stderr(std::fs::File::create(logs.join("up.log"))?);
        let up = Up::spawn(&mut command)?.ready().await?;
        let info = up.info().clone();
        let bucket = S3Server::start().await;
        let (target, deliveries) = receiver().await?;
        // The node of a local network refuses requests for another host, and this sends them for the right one.
        let node = RpcProxy::start(&info.rpc_url).await?;
        let rpc = Link::start(Wire::Http, tcp(node.url())?).await?;
        let websocket = Link::start(Wire::WebSocket, tcp(&info.ws_url)?).await?;
        let postgres = Link::start(Wire::Postgres, socket(&info.database_url)?).await?;
        let content_link = Link::start(Wire::Http, tcp(&bucket.settings().endpoint.context("an endpoint")?)?).await?;
        let webhook = Link::start(Wire::Http, target).await?;

        let config = configuration(&info, &bucket.settings(), folder)?;
        let url = |link: &Link| format!("http://{}", link.address());
        let of_stream = vec![
            ("CRTX_RPC_WS_URL", format!("ws://{}", websocket.address())),
            ("CRTX_INDEXER_SILENCE_SECONDS", "2".to_owned()),
        ];
        let of_rpc = vec![("CRTX_RPC_URLS", url(&rpc))];
        let of_database = vec![("CRTX_DATABASE_URL", format!("postgres://crtx@{}/crtx", postgres.address()))];
        let of_content = vec![("CRTX_CONTENT_S3_ENDPOINT", url(&content_link))];
        let (mut processes, mut base_urls) = (Vec::new(), Vec::new());
        for (name, roles, set) in [
            ("whole", "api,worker,indexer", of_stream),
            ("rpc", "api,worker", of_rpc),
            ("postgres", "api,worker", of_database),
            ("content", "api,worker", of_content),
        ] {
            let (process, base_url) = Process::server(name, roles, &config, logs, set)?;
            processes.push(process);
            base_urls.push(base_url);
        }
        for process in &processes {
            process.ready(START_LIMIT).await?;
        }

        let pool = crtx_store::testing::connect(&info.database_url, 4).await?;
        let marketplace = Marketplace {
            data_dir,
            info: watch::channel(Some(info)).1,
            base_url: Some(base_urls[WHOLE].clone()),
            here: IpAddr::from(Ipv4Addr::LOCALHOST),
            content: ContentStore::create(&ContentLocation::Bucket(bucket.bucket()))?,
        };
        let mut cast = Cast::assemble(&marketplace, &pool, SEED).await?;
        let creator = Link::start(Wire::Http, tcp(cast.creator.base_url())?).await?;
        let chain = marketplace.chain()?;
        let endpoint = format!("{}/linked/execute", url(&creator));
        let listing = Listing {
            index: u32::try_from(LINKED)?,
            name: "linked",
            endpoint: &endpoint,
            price: 15_000,
            timeout_seconds: 3,
            result_key: cast.creator.result_key(),
            binding: true,
        };
        let linked = chain.list(&cast.creator_wallet, &marketplace.content, &listing).await?;
        cast.agents.push(linked);
        cast.opening = cast.balances(&chain).await?;
        cast.wait_until_listed(&marketplace).await?;

        let row = |name, link, gateway, key, agent| Row { name, link, gateway, key, agent };
        let rows = vec![
            row("RPC", rpc, RPC, 0, 0),
            row("WebSocket", websocket, WHOLE, 0, 1),
            row("PostgreSQL", postgres, POSTGRES, 1, 0),
            row("creator", creator, WHOLE, 2, LINKED),
            row("webhook target", webhook, WHOLE, 4, 0),
            row("content store", content_link, CONTENT, 3, 1),
        ];
        let market = callers::Market {
            base_urls,
            keys: cast.keys.iter().map(|(_, key)| key.reveal()).collect(),
            agents: cast.agents.iter().map(|agent| agent.address.to_string()).collect(),
        };
        let receivers = Receivers::of(&cast);
        let matrix = Self {
            marketplace,
            cast,
            pool,
            market: Arc::new(market),
            client: Client::new()?,
            notebook: Arc::default(),
            receivers,
            deliveries,
            rows,
            processes,
            up,
            _bucket: bucket,
            _node: node,
        };
        matrix.create_webhook().await?;
        Ok(matrix)
    }

    /// A webhook of the wallet that the row of webhooks spends, with everything that its calls tell.
    async fn create_webhook(&self) -> Result<()> {
        let row = self.rows.iter().find(|row| row.name == "webhook target").context("the row")?;
        let wallet = &self.cast.wallets[self.cast.keys[row.key].0];
        let market = Market::new(self.marketplace.info()?);
        let session = Session::bearer(&market, &wallet.keypair).await;
        let body = json!({"url": format!("http://{}/crtx", row.link.address())});
        let created = session.ask(&market, Method::POST, "/v1/webhooks", Some(&body)).await;
        ensure!(created.status == 201, "{created:?}");
        Ok(())
    }

    fn call(row: &Row, task: String) -> Call {
        let idempotency_key = Some(task.replace(' ', "-"));
        // What the creator's own network does to a call is the creator's, whatever it has delivered.
        let behaviour = if row.agent == LINKED { Behaviour::CutOff } else { Behaviour::Honest };
        let (key, agent, gateway) = (row.key, row.agent, row.gateway);
        Call { key, agent, behaviour, idempotency_key, gateway, ..Call::honest(task) }
    }

    async fn attempt(&self, call: &Call) -> Attempt {
        let attempt = send(call, &self.market, &self.client, call.gateway, ANSWER_LIMIT).await;
        self.notebook.answered(&call.task, attempt.clone());
        attempt
    }

    /// Repeats the call with its key until it has ended. Each answer is clean.
    async fn ended(&self, row: &Row, broken: Broken, call: &Call) -> Result<Claim> {
        let (started, mut last) = (Instant::now(), None);
        while started.elapsed() < RECOVERY_LIMIT {
            let attempt = self.attempt(call).await;
            clean(row, broken, &attempt)?;
            if matches!(attempt.claim, Claim::Completed { .. } | Claim::Refunded(_)) {
                return Ok(attempt.claim);
            }
            last = Some(attempt.reply);
            sleep(POLL).await;
        }
        bail!("it has not ended after {RECOVERY_LIMIT:?}: {last:?}")
    }

    /// Waits until something has happened.
    async fn until(&self, what: &str, mut happened: impl AsyncFnMut() -> bool) -> Result<()> {
        let waited = async {
            while !happened().await {
                sleep(POLL).await;
            }
        };
        timeout(RECOVERY_LIMIT, waited).await.with_context(|| format!("not within {RECOVERY_LIMIT:?}: {what}"))
    }

    /// One row: what each kind of fault does to it. The line of each cell for the table.
    async fn row(&self, row: &Row) -> Vec<String> {
        let mut wrong = Vec::new();
        for broken in Broken::ALL {
            let started = Instant::now();
            let outcome = self.cell(row, broken).await;
            let took = started.elapsed();
            match outcome {
                Ok(seen) => eprintln!("{:14} {broken:?}: {seen}; {took:.1?}", row.name),
                Err(error) => {
                    eprintln!("{:14} {broken:?}: WRONG: {error:#}; {took:.1?}", row.name);
                    wrong.push(format!("{} × {broken:?}: {error:#}", row.name));
                }
            }
        }
        wrong
    }

    async fn cell(&self, row: &Row, broken: Broken) -> Result<String> {
        let call = |part: &str| {
            let call = Self::call(row, format!("{} {broken:?} {part}", row.name));
            self.notebook.meant(&call);
            call
        };
        let mut known = None;
        if row.name == "content store" || broken == Broken::HalfOpen {
            // Two at once, so that the link forgets a connection that nobody uses, too.
            let before = [call("before, one"), call("before, two")];
            let (one, two) = tokio::join!(self.ended(row, broken, &before[0]), self.ended(row, broken, &before[1]));
            completed(two?)?;
            known = Some(completed(one?)?);
        }
        let (met, passed) = (row.link.met(), row.link.passed());
        let starts = self.processes[row.gateway].start_number();
        let price = 20_000 + 10 * (broken as u64);
        // Many sessions wait for an answer of the database when the link forgets them.
        let silences = row.gateway == POSTGRES && broken == Broken::HalfOpen;
        let under_way: Vec<Call> =
            (0..if silences { UNDER_WAY } else { 0 }).map(|number| call(&format!("under way {number}"))).collect();
        let first = call("first");
        let breaks = async {
            let pieces = passed + 5 * under_way.len() as u64;
            self.until("calls are under way", async || row.link.passed() >= pieces).await?;
            row.link.set(broken);
            let hold = if row.agent == LINKED && broken == Broken::HalfOpen { LONGER_THAN_IDLE } else { HOLD };
            let mut answered = Box::pin(self.attempt(&first));
            let held = async {
                let early = timeout(hold, &mut answered).await;
                if broken == Broken::HalfOpen && row.agent == LINKED && early.is_ok() {
                    sleep(LONGER_THAN_IDLE).await;
                }
                early
            };
            let (met_something, early) = tokio::join!(self.during(row, met, price, known.as_ref()), held);
            row.link.set(Broken::No);
            met_something?;
            anyhow::Ok(match early {
                Ok(attempt) => attempt,
                Err(_) => answered.await,
            })
        };
        let (attempt, others) = tokio::join!(breaks, join_all(under_way.iter().map(|call| self.attempt(call))));
        let attempt = attempt?;
        let seen = clean(row, broken, &attempt)?;
        for other in &others {
            clean(row, broken, other)?;
        }
        if silences {
            // Nothing else would end what waits.
            self.until("the process ends, and is started again", async || {
                self.processes[POSTGRES].start_number() > starts
            })
            .await?;
            try_join_all(under_way.iter().map(|call| self.ended(row, broken, call))).await?;
        }

        // The same call, and another one: the service works again by itself.
        let passed = row.link.passed();
        let again = self.ended(row, broken, &first).await?;
        ensure!(
            attempt.claim.execution().is_none_or(|id| again.execution() == Some(id)),
            "{:?}, then {again:?}",
            attempt.claim
        );
        // A call that needs neither the chain nor the database of this link is served in spite of it.
        if row.gateway != RPC && row.gateway != POSTGRES && row.agent != LINKED {
            completed(again.clone())?;
        }
        // Nothing of the fault is left.
        let after = self.ended(row, broken, &call("after")).await?;
        completed(after.clone())?;
        match row.name {
            "WebSocket" => {
                let url = format!("{}/v1/agents/{}", self.market.base_urls[WHOLE], self.market.agents[PRICED]);
                let shown = async || {
                    let reply = self.client.get(&url, None, ANSWER_LIMIT).await;
                    let price_shown = reply.get("price_per_call_usdc").and_then(Value::as_f64).unwrap_or_default();
                    (price_shown * 1e6).round() as u64 == price
                };
                self.until("the mirror shows what the stream hid", shown).await?;
                self.until("the stream flows again", async || row.link.passed() > passed).await?;
            }
            "webhook target" => self.everything_is_delivered(row, broken, &after).await?,
            "content store" => {
                let known = known.context("an earlier result")?;
                let served = async || self.content_is_right(row, &known).await.is_ok_and(|served| served);
                self.until("content is served", served).await?;
            }
            "creator" if broken == Broken::Duplication => {
                let id = again.execution().context("an execution")?;
                self.until("the creator is asked twice", async || self.cast.creator.notes(id).asked.len() == 2).await?;
            }
            _ => {}
        }
        let restarted = if self.processes[row.gateway].start_number() == starts { "" } else { ", process restarted" };
        Ok(format!("first {seen}, then {}{restarted}", name_of(&again)))
    }

    /// While the link is broken.
    async fn during(&self, row: &Row, met: u64, price: u64, known: Option<&(String, String)>) -> Result<()> {
        if row.name == "WebSocket" {
            let agent = &self.cast.agents[PRICED].address;
            self.marketplace.chain()?.set_price(&self.cast.creator_wallet, agent, price).await?;
        }
        if let Some(known) = known.filter(|_| row.name == "content store") {
            self.content_is_right(row, known).await?;
        }
        self.until("the fault meets something", async || row.link.met() > met).await
    }

    /// Whether the content of an earlier result is served. Never other content.
    async fn content_is_right(&self, row: &Row, known: &(String, String)) -> Result<bool> {
        let (result, url) = known;
        let cid = url.rsplit('/').next().context("a CID")?;
        let url = format!("{}/ipfs/{cid}", self.market.base_urls[row.gateway]);
        let status = self.client.get(&url, None, ANSWER_LIMIT).await.status();
        ensure!(matches!(status, Some(200 | 503)), "{url} has status {status:?}");
        let served = self.client.bytes(&url, ANSWER_LIMIT).await;
        ensure!(served.as_ref().is_none_or(|bytes| bytes == result.as_bytes()), "other content is served: {served:?}");
        Ok(served.is_some())
    }

    /// Every event of the wallet arrives, the same each time, and in order for each execution.
    async fn everything_is_delivered(&self, row: &Row, broken: Broken, last: &Claim) -> Result<()> {
        let receiver = &self.receivers.0[self.cast.keys[row.key].0];
        let last = last.execution().context("an execution")?.to_string();
        let arrived = async || {
            let got = self.deliveries.lock().unwrap();
            let ids: HashSet<&str> = got.iter().map(|(id, _)| id.as_str()).collect();
            let events = receiver.received().events;
            let ended =
                |event: &Value| event["type"] == "execution.completed" && event["execution_id"] == last.as_str();
            let mut of_executions =
                events.iter().filter(|event| event["type"].as_str().unwrap().starts_with("execution."));
            events.iter().any(ended) && of_executions.all(|event| ids.contains(event["id"].as_str().unwrap()))
        };
        self.until("every event is delivered", arrived).await?;
        let got = self.deliveries.lock().unwrap();
        let mut seen: BTreeMap<&str, &Value> = BTreeMap::new();
        let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
        let mut repeated = 0;
        for (id, body) in got.iter() {
            if let Some(earlier) = seen.insert(id, body) {
                ensure!(earlier == body, "{id} came as {earlier} and as {body}");
                repeated += 1;
                continue;
            }
            let (Some(execution), Some(sequence)) = (body["execution_id"].as_str(), body["sequence"].as_u64()) else {
                continue;
            };
            let before = newest.insert(execution, sequence).unwrap_or_default();
            ensure!(before < sequence, "{sequence} of {execution} came after {before}");
        }
        ensure!(broken != Broken::Duplication || repeated > 0, "nothing came twice");
        Ok(())
    }
}

/// Result and link of a call that was served.
fn completed(claim: Claim) -> Result<(String, String)> {
    match claim {
        Claim::Completed { result, url, .. } => Ok((result, url)),
        other => bail!("not served: {other:?}"),
    }
}

fn name_of(claim: &Claim) -> &'static str {
    if matches!(claim, Claim::Completed { .. }) { "completed" } else { "refunded" }
}

/// The right answer, or an error after which the call may be repeated.
fn clean(row: &Row, broken: Broken, attempt: &Attempt) -> Result<String> {
    let Reply::Answer { status, retry_after, body } = &attempt.reply else {
        // A process whose database is silent ends, and the connections of its callers with it.
        ensure!(row.gateway == POSTGRES && broken == Broken::HalfOpen, "no answer: {:?}", attempt.reply);
        return Ok("no answer".to_owned());
    };
    let code = body["error"]["code"].as_str().unwrap_or_default();
    let is_retryable = matches!(status, 409 | 429 | 503) && !code.is_empty() && retry_after.is_some();
    ensure!(attempt.claim.is_final() || is_retryable, "neither the answer nor retryable: {:?}", attempt.reply);
    Ok(format!("{status} {code}").trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_may_break_in_every_way_and_each_call_has_one_end() {
    let began = Instant::now();
    let folder = crtx_e2e::folder();
    let logs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fault-matrix");
    let mut matrix = Matrix::start(folder.path(), &logs).await.unwrap();
    eprintln!("ready after {:.1?}", began.elapsed());
    let rows = join_all(matrix.rows.iter().map(|row| matrix.row(row)));
    let wrong = tokio::select! {
        wrong = rows => wrong.concat(),
        () = matrix.receivers.follow(&matrix.client, &matrix.market.base_urls) => unreachable!("it never ends"),
    };
    eprintln!("all cells after {:.1?}", began.elapsed());
    assert!(wrong.is_empty(), "logs in {}\n{}", logs.display(), wrong.join("\n"));
    let checker = Checker {
        marketplace: &matrix.marketplace,
        cast: &matrix.cast,
        notebook: &matrix.notebook,
        pool: &matrix.pool,
        openings: &Openings::default(),
        receivers: &matrix.receivers,
        client: matrix.client.clone(),
    };
    let (tally, violations) = checker.run(&mut HashSet::new()).await.unwrap();
    eprintln!("compared after {:.1?}: {tally:?}", began.elapsed());
    assert!(violations.is_empty(), "logs in {}\n{violations:#?}", logs.display());
    for process in matrix.processes {
        process.stop(START_LIMIT).await.unwrap();
    }
    matrix.up.stop().await.unwrap();
}
