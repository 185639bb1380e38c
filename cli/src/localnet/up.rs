//! `crtx up`: starts the parts in the order in which they need each other, tells where they are, and
//! stops them in the opposite order.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use crtx_chain::{ChainClient, Instructions};
use crtx_gateway::{Gateway, GatewayConfig, Limits};
use crtx_http::{Links, ServeLimits, outbound::OutboundPolicy, process::StopSignal};
use crtx_indexer::{ContentSources, IndexerConfig, api::IndexerApiState};
use crtx_postgres::Cluster;
use crtx_protocol::{address::Addresses, api_key::KeyNetwork, usdc::UsdcBase};
use crtx_store::{
    PgPool, Pools,
    api_keys::{self, NewApiKey},
    executions::Executions,
    pools::PoolSizes,
};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    align,
    chain::{Chain, ChainOptions},
    data_dir::{DataDir, Ports},
    demo,
    keys::{Caller, Keys},
    openapi,
    progress::Progress,
    ready::{Ready, ReadyAgent},
    setup::{self, ListedAgent, Setup},
};

/// The program that is deployed: built from `programs/agent-marketplace`, committed beside it.
static PROGRAM_ELF: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../programs/agent-marketplace/artifacts/agent_marketplace.so"
));

const STEPS: u64 = 4;
const RPC_TIMEOUT: Duration = Duration::from_secs(20);
const READY_LIMIT: Duration = Duration::from_secs(60);
/// How long a stop waits for requests under way.
const DRAIN_LIMIT: Duration = Duration::from_secs(7);
/// How long a stop waits for the services, which finish the calls they are in.
const SERVICES_LIMIT: Duration = Duration::from_secs(20);
const DATABASE_CONNECTIONS: u32 = 32;
/// How long a stop waits for anything that needs a database which has ended.
const WITHOUT_DATABASE_LIMIT: Duration = Duration::from_millis(500);
/// How long a stop waits for connections that are in use.
const POOL_LIMIT: Duration = Duration::from_secs(2);
/// From the first signal to the end of the process, whatever is still going on then.
pub const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// What the command line says.
#[derive(Clone, Debug, clap::Args)]
pub struct UpArgs {
    /// Port of the HTTP API on 127.0.0.1
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Where keys, chain, database and content are kept
    #[arg(long, value_name = "DIR", default_value = ".crtx")]
    pub data_dir: PathBuf,
    /// Delete what an earlier run left in the data directory, and start over
    #[arg(long)]
    pub fresh: bool,
    /// When ready, print one JSON line instead of a page
    #[arg(long)]
    pub json: bool,
}

/// Runs until a signal or a failure; in both cases everything is stopped when this returns.
pub async fn run(arguments: UpArgs, stop: StopSignal) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut parts = Parts::new();
    let outcome = tokio::select! {
        outcome = start_and_serve(&arguments, &mut parts, started) => outcome,
        _ = stop.wait() => Ok(()),
    };
    let stopped = parts.stop().await;
    // The first failure is the one that explains the others.
    outcome.and(stopped)
}

/// Returns only if something fails: the end of `up` is a signal.
async fn start_and_serve(arguments: &UpArgs, parts: &mut Parts, started: Instant) -> anyhow::Result<()> {
    let listener = bind(arguments.port).await?;
    parts.data_dir = Some(DataDir::open(&arguments.data_dir, arguments.fresh)?);
    let ready = start(parts, listener, started).await?;
    if arguments.json {
        println!("{}", serde_json::to_string(&ready)?);
    } else {
        println!("{}", ready.page());
    }
    Err(parts.first_failure().await)
}

/// The port is taken before anything else is touched.
async fn bind(port: u16) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            bail!("port {port} is in use; choose another with --port")
        }
        bound => bound.with_context(|| format!("port {port} cannot be used")),
    }
}

async fn start(parts: &mut Parts, listener: TcpListener, started: Instant) -> anyhow::Result<Ready> {
    let progress = Progress::new(STEPS);
    let data_dir = parts.data_dir.as_ref().context("no data directory")?;
    let keys = Arc::new(Keys::load_or_create(&data_dir.keys())?);
    let content_dir = data_dir.content();
    let ports = data_dir.ports();

    progress.step("starting PostgreSQL and the Solana network");
    let database_url = parts.start_foundations(&keys, &ports, &progress).await?;
    let pools = Pools::connect(&database_url, PoolSizes::of(DATABASE_CONNECTIONS)).await.context("the database")?;
    parts.pools = Some(pools.clone());
    let pool = pools.indexer.clone();
    crtx_store::migrate(&pool).await.context("the database's schema")?;

    let network = parts.chain.as_ref().context("no chain")?;
    let (rpc_url, ws_url) = (network.rpc_url(), network.ws_url());
    let base_url = format!("http://{}", listener.local_addr()?);
    let instructions = Instructions::new(Addresses::new(agent_marketplace::ID), keys.usdc_mint.pubkey());
    let links = Links::local(&base_url, &rpc_url);
    let gateway = Gateway::new(
        GatewayConfig {
            rpc_urls: rpc_url.parse()?,
            addresses: instructions.addresses,
            usdc_mint: instructions.usdc_mint,
            keypair: Arc::new(keys.gateway_authority.insecure_clone()),
            network: KeyNetwork::Test,
            outbound: OutboundPolicy::LOCAL,
            links: links.clone(),
            content_dir: content_dir.clone(),
            limits: Limits::default(),
        },
        pools.money.clone(),
        pools.indexer.clone(),
    )?;

    progress.step("setting the marketplace up");
    let chain = ChainClient::new(&rpc_url, RPC_TIMEOUT);
    let creator_listener = bind_preferred(ports.creator).await?;
    let creator_port = creator_listener.local_addr()?.port();
    let noted = Ports { rpc: Some(network.rpc_port), ws: Some(network.ws_port), creator: Some(creator_port) };
    parts.data_dir.as_ref().context("no data directory")?.save_ports(&noted)?;
    align::align(&pool, network, &chain, &progress).await.context("aligning the database with the chain")?;
    setup::fund(network, &chain, &keys).await?;
    let setup = Setup { chain: &chain, instructions, keys: &keys, content: gateway.content(), creator_port };
    let listed = setup.run().await?;
    store_api_keys(&pool, &instructions.addresses, &keys).await?;
    align::show(&pool, network, &chain).await.context("the first look at the chain")?;
    if let Some(cluster) = &mut parts.cluster {
        cluster.begin_syncing().await.context("PostgreSQL")?;
    }

    progress.step("starting the demo creator, the indexer and the gateway");
    parts.serve_creator(creator_listener, &keys);
    let indexer = IndexerConfig {
        outbound: OutboundPolicy::LOCAL,
        content: ContentSources { folder: Some(content_dir.clone()), base_url: None },
        ..IndexerConfig::new(rpc_url.parse()?, &ws_url, agent_marketplace::ID)
    };
    parts.run_services(indexer, gateway.clone(), pool.clone());
    parts.serve_api(listener, IndexerApiState::new(pools.reads, KeyNetwork::Test, links), gateway);

    progress.step("waiting until the index shows the agents");
    parts.or_failure(wait_for_agents(&base_url, &pool, &listed)).await?;
    progress.finish();
    Ok(Ready {
        base_url,
        api_key: keys.demo.api_key.reveal(),
        unfunded_api_key: keys.unfunded.api_key.reveal(),
        wallet: keys.demo.wallet.pubkey().to_string(),
        rpc_url,
        ws_url,
        program_id: agent_marketplace::ID.to_string(),
        usdc_mint: instructions.usdc_mint.to_string(),
        database_url,
        content_dir,
        ready_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        agents: listed.into_iter().map(ready_agent).collect(),
    })
}

fn ready_agent(agent: ListedAgent) -> ReadyAgent {
    ReadyAgent {
        agent_id: agent.agent_id.to_string(),
        name: agent.name.to_owned(),
        price_per_call_usdc: UsdcBase(agent.price),
        endpoint: agent.endpoint,
    }
}

/// Everything that runs, for stopping it.
struct Parts {
    data_dir: Option<DataDir>,
    cluster: Option<Cluster>,
    pools: Option<Pools>,
    chain: Option<Chain>,
    /// Ends the HTTP API.
    api: CancellationToken,
    /// Ends indexer and gateway.
    services: CancellationToken,
    /// Ends the demo creator.
    creator: CancellationToken,
    api_task: JoinSet<()>,
    service_tasks: JoinSet<()>,
    creator_task: JoinSet<()>,
    /// PostgreSQL ended although nobody stopped it.
    database_ended: bool,
    failure_sender: mpsc::UnboundedSender<anyhow::Error>,
    failures: mpsc::UnboundedReceiver<anyhow::Error>,
}

impl Parts {
    fn new() -> Self {
        let (failure_sender, failures) = mpsc::unbounded_channel();
        Self {
            data_dir: None,
            cluster: None,
            pools: None,
            chain: None,
            api: CancellationToken::new(),
            services: CancellationToken::new(),
            creator: CancellationToken::new(),
            api_task: JoinSet::new(),
            service_tasks: JoinSet::new(),
            creator_task: JoinSet::new(),
            database_ended: false,
            failure_sender,
            failures,
        }
    }

    /// Database and chain, side by side.
    async fn start_foundations(&mut self, keys: &Keys, ports: &Ports, progress: &Progress) -> anyhow::Result<String> {
        let data_dir = self.data_dir.as_ref().context("no data directory")?;
        let options = ChainOptions {
            dir: data_dir.chain(),
            rpc_port: ports.rpc,
            ws_port: ports.ws,
            program_id: agent_marketplace::ID,
            program_elf: PROGRAM_ELF,
            upgrade_authority: keys.admin.pubkey(),
        };
        let failures = self.failure_sender.clone();
        let chain = tokio::task::spawn_blocking(move || Chain::start(&options, failures));
        let own_database = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
        let say = |text: &str| progress.say(text.to_owned());
        let cluster = async {
            match own_database {
                Some(_) => Ok(None),
                None => Cluster::start(data_dir.path(), &say).await.map(Some),
            }
        };
        let (chain, cluster) = tokio::join!(chain, cluster);
        // Both are kept even if the other failed, so that both are stopped.
        let chain = chain.context("the network's thread")?.map(|chain| self.chain = Some(chain));
        self.cluster = cluster.context("PostgreSQL")?;
        chain.context("the embedded network")?;
        own_database.or_else(|| self.cluster.as_ref().map(Cluster::url)).context("no database")
    }

    fn serve_creator(&mut self, listener: TcpListener, keys: &Keys) {
        let (key, shutdown, failures) = (keys.result_key.clone(), self.creator.clone(), self.failure_sender.clone());
        self.creator_task.spawn(async move {
            if let Err(error) = demo::serve(listener, key, shutdown).await {
                let _ = failures.send(anyhow!(error).context("the demo creator"));
            }
        });
    }

    fn run_services(&mut self, indexer: IndexerConfig, gateway: Gateway, pool: PgPool) {
        let (shutdown, failures) = (self.services.clone(), self.failure_sender.clone());
        let indexing = crtx_indexer::run(indexer, pool, shutdown.clone());
        self.service_tasks.spawn(async move {
            if let Err(error) = indexing.await {
                let _ = failures.send(anyhow!(error).context("the indexer"));
            }
        });
        self.service_tasks.spawn(crtx_gateway::run(gateway, shutdown));
    }

    fn serve_api(&mut self, listener: TcpListener, reads: IndexerApiState, gateway: Gateway) {
        let router = crtx_indexer::api::router(reads)
            .merge(crtx_gateway::api::router(gateway))
            .merge(crtx_http::docs::router(openapi::description()));
        let (shutdown, failures) = (self.api.clone(), self.failure_sender.clone());
        self.api_task.spawn(async move {
            let router = crtx_http::finish(router);
            let served = crtx_http::serve(listener, router, ServeLimits::default(), shutdown.cancelled_owned());
            if let Err(error) = served.await {
                let _ = failures.send(anyhow!(error).context("the HTTP API"));
            }
        });
    }

    /// Waits until something that should run on has ended.
    async fn first_failure(&mut self) -> anyhow::Error {
        let database = async {
            match &mut self.cluster {
                Some(cluster) => cluster.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            error = database => {
                self.database_ended = true;
                error
            }
            error = self.failures.recv() => error.unwrap_or_else(|| anyhow!("everything has ended")),
        }
    }

    async fn or_failure<T>(&mut self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        tokio::select! {
            done = work => done,
            error = self.first_failure() => Err(error),
        }
    }

    /// Requests first, then the services behind them, then what those stand on.
    async fn stop(mut self) -> anyhow::Result<()> {
        // Without the database no call can end: what is under way goes on after the next start.
        let limit = |usual: Duration| if self.database_ended { WITHOUT_DATABASE_LIMIT } else { usual };
        let (api_limit, services_limit) = (limit(DRAIN_LIMIT), limit(SERVICES_LIMIT));
        self.api.cancel();
        drain(&mut self.api_task, api_limit).await;
        self.services.cancel();
        drain(&mut self.service_tasks, services_limit).await;
        self.creator.cancel();
        drain(&mut self.creator_task, Duration::from_secs(1)).await;
        let chain = match self.chain.take() {
            Some(chain) => tokio::task::spawn_blocking(|| chain.stop()).await.map_err(anyhow::Error::new).flatten(),
            None => Ok(()),
        };
        if let Some(pools) = self.pools.take() {
            let _ = tokio::time::timeout(POOL_LIMIT, pools.close()).await;
        }
        let cluster = match self.cluster.take() {
            Some(cluster) => cluster.stop().await.map(drop),
            None => Ok(()),
        };
        chain.context("stopping the network").and(cluster.context("stopping PostgreSQL"))
    }
}

/// Waits for tasks that were told to end; those that do not are cut off.
async fn drain(tasks: &mut JoinSet<()>, limit: Duration) {
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(limit, ended).await.is_err() {
        tasks.shutdown().await;
    }
}

/// The port of the last run if it is free, else another.
async fn bind_preferred(port: Option<u16>) -> anyhow::Result<TcpListener> {
    if let Some(port) = port
        && let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
    {
        return Ok(listener);
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port on 127.0.0.1")
}

async fn store_api_keys(pool: &PgPool, addresses: &Addresses, keys: &Keys) -> anyhow::Result<()> {
    for (name, Caller { wallet, api_key }) in [("demo", &keys.demo), ("unfunded", &keys.unfunded)] {
        let session_public_key = Pubkey::new_from_array(api_key.session_public_key());
        if api_keys::find(pool, &session_public_key).await?.is_some() {
            continue;
        }
        let wallet = wallet.pubkey();
        let grant = addresses.grant(&wallet, &session_public_key);
        let key = NewApiKey { session_public_key, wallet, grant, name, network: KeyNetwork::Test };
        api_keys::insert(pool, &key).await?;
    }
    Ok(())
}

/// Ready means that a caller finds both agents, as they are listed now: after a restart the index may
/// still show an older document, with an endpoint that nobody answers any more.
async fn wait_for_agents(base_url: &str, pool: &PgPool, agents: &[ListedAgent]) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
    let executions = Executions::new(pool.clone(), Limits::default().lease);
    let started = Instant::now();
    for agent in agents {
        let url = format!("{base_url}/v1/agents/{}", agent.agent_id);
        loop {
            let has_document = executions.document(&agent.agent_id, &agent.metadata_hash).await?.is_some();
            let answer = client.get(&url).send().await;
            if has_document && answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                break;
            }
            if started.elapsed() > READY_LIMIT {
                bail!("the index does not show {}: {answer:?}", agent.name);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}
