//! `crtx up`: starts the parts in the order in which they need each other, tells where they are, and
//! stops them in the opposite order.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use crtx_chain::{ChainClient, Instructions};
use crtx_gateway::{ContentStore, GatewayConfig, Limits};
use crtx_http::{Links, outbound::OutboundPolicy, process::StopSignal};
use crtx_indexer::{ContentSources, IndexerConfig};
use crtx_postgres::Cluster;
use crtx_protocol::{address::Addresses, api_key::KeyNetwork, usdc::UsdcBase};
use crtx_server::{Roles, Running, Service, ServiceConfig, StopLimits};
use crtx_store::{
    PgPool, Pools,
    api_keys::{self, NewApiKey},
    metadata,
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
    progress::Progress,
    ready::{Ready, ReadyAgent},
    server_config,
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
/// How long a stop waits for requests under way, and for the calls that the services are in.
const STOP_LIMITS: StopLimits = StopLimits { requests: Duration::from_secs(7), work: Duration::from_secs(20) };
/// How long a stop waits for anything that needs a database which has ended.
const WITHOUT_DATABASE: Duration = Duration::from_millis(500);
const STOP_LIMITS_WITHOUT_DATABASE: StopLimits = StopLimits { requests: WITHOUT_DATABASE, work: WITHOUT_DATABASE };
const CREATOR_LIMIT: Duration = Duration::from_secs(1);
const DATABASE_CONNECTIONS: u32 = 32;
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
    /// Which services run in addition to the chain, PostgreSQL and the demo creator
    #[arg(long, value_enum, default_value_t)]
    pub services: Services,
}

/// What `crtx up` runs of the marketplace's own services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Services {
    /// API, indexer and worker
    #[default]
    All,
    /// None: `crtx-server` processes of your own join with the configuration that is printed
    None,
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
    let listener = match arguments.services {
        Services::All => Some(bind(arguments.port).await?),
        Services::None => None,
    };
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

/// `listener`: where the API is served; `None` without services.
async fn start(parts: &mut Parts, listener: Option<TcpListener>, started: Instant) -> anyhow::Result<Ready> {
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

    progress.step("setting the marketplace up");
    let network = parts.chain.as_ref().context("no chain")?;
    let data_dir = parts.data_dir.as_ref().context("no data directory")?;
    let (rpc_url, ws_url) = (network.rpc_url(), network.ws_url());
    let instructions = Instructions::new(Addresses::new(agent_marketplace::ID), keys.usdc_mint.pubkey());
    let chain = ChainClient::new(&rpc_url, RPC_TIMEOUT);
    let creator_listener = bind_preferred(ports.creator).await?;
    let creator_port = creator_listener.local_addr()?.port();
    let noted = Ports { rpc: Some(network.rpc_port), ws: Some(network.ws_port), creator: Some(creator_port) };
    data_dir.save_ports(&noted)?;
    let server_config = server_config::write(
        data_dir,
        server_config::Database { url: database_url.clone() },
        server_config::Rpc { urls: rpc_url.clone(), ws_url: ws_url.clone() },
        server_config::Program { id: agent_marketplace::ID.to_string(), usdc_mint: instructions.usdc_mint.to_string() },
        &keys.gateway_authority,
    )?;
    let content = ContentStore::local(&content_dir)?;
    align::align(&pool, network, &chain, &progress).await.context("aligning the database with the chain")?;
    setup::fund(network, &chain, &keys).await?;
    let setup = Setup { chain: &chain, instructions, keys: &keys, content: &content, creator_port };
    let listed = setup.run().await?;
    store_api_keys(&pool, &instructions.addresses, &keys).await?;
    align::show(&pool, network, &chain).await.context("the first look at the chain")?;
    if let Some(cluster) = &mut parts.cluster {
        cluster.begin_syncing().await.context("PostgreSQL")?;
    }

    progress.step("starting the demo creator and the services");
    parts.serve_creator(creator_listener, &keys);
    progress.step("waiting until the index shows the agents");
    let mut base_url = None;
    if let Some(listener) = listener {
        let url = format!("http://{}", listener.local_addr()?);
        let config = service_config(&keys, instructions, &rpc_url, &ws_url, &url, &content_dir)?;
        parts.running = Some(Service::new(config, pools)?.start(listener, &parts.failure_sender));
        parts.or_failure(wait_for_agents(&url, &pool, &listed)).await?;
        base_url = Some(url);
    }
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
        server_config,
        ready_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        agents: listed.into_iter().map(ready_agent).collect(),
    })
}

/// Every role in this process, over the local network.
fn service_config(
    keys: &Keys,
    instructions: Instructions,
    rpc_url: &str,
    ws_url: &str,
    base_url: &str,
    content_dir: &Path,
) -> anyhow::Result<ServiceConfig> {
    let links = Links::local(base_url, rpc_url);
    let gateway = GatewayConfig {
        rpc_urls: rpc_url.parse()?,
        addresses: instructions.addresses,
        usdc_mint: instructions.usdc_mint,
        keypair: Arc::new(keys.gateway_authority.insecure_clone()),
        network: KeyNetwork::Test,
        outbound: OutboundPolicy::LOCAL,
        links: links.clone(),
        content_dir: content_dir.to_owned(),
        limits: Limits::default(),
    };
    let indexer = IndexerConfig {
        outbound: OutboundPolicy::LOCAL,
        content: ContentSources { folder: Some(content_dir.to_owned()), base_url: None },
        ..IndexerConfig::new(rpc_url.parse()?, ws_url, agent_marketplace::ID)
    };
    Ok(ServiceConfig {
        roles: Roles::all(),
        key_network: KeyNetwork::Test,
        rpc_urls: rpc_url.parse()?,
        links,
        gateway: Some(gateway),
        indexer: Some(indexer),
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
    /// API, indexer and worker.
    running: Option<Running>,
    /// Ends the demo creator.
    creator: CancellationToken,
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
            running: None,
            creator: CancellationToken::new(),
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
        if let Some(running) = self.running.take() {
            // Without the database no call can end: what is under way goes on after the next start.
            running.stop(if self.database_ended { STOP_LIMITS_WITHOUT_DATABASE } else { STOP_LIMITS }).await;
        }
        self.creator.cancel();
        let creator_ended = async { while self.creator_task.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CREATOR_LIMIT, creator_ended).await;
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

/// Ready means that a caller finds both agents with their present documents. After a restart the index may show an
/// older document first, whose endpoint no longer exists.
async fn wait_for_agents(base_url: &str, pool: &PgPool, agents: &[ListedAgent]) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
    let started = Instant::now();
    for agent in agents {
        let url = format!("{base_url}/v1/agents/{}", agent.agent_id);
        loop {
            let has_document = metadata::document(pool, &agent.agent_id, &agent.metadata_hash).await?.is_some();
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
