//! `crtx up`: starts a local network and the marketplace's services over it, prints where they are, and stops them
//! in the opposite order.

mod progress;
mod ready;
mod services;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use crtx_http::AddressRange;
use crtx_localnet::{LocalNetwork, Marketplace, NetworkOptions, StartProgress};
use crtx_server::{Running, Service, StopLimits, process::StopSignal};
use tokio::net::TcpListener;

use self::{progress::ProgressBar, ready::Ready};
use crate::{
    arguments::lifetime,
    output::{self, note},
    settings::{Keypairs, LocalRun, find_folder, parse_name},
};

const STEPS: u64 = 4;
/// How long a stop waits for requests under way, and for the calls that the services are in.
const STOP_LIMITS: StopLimits = StopLimits { requests: Duration::from_secs(7), work: Duration::from_secs(20) };
/// How long a stop waits for anything that needs a database which has ended.
const WITHOUT_DATABASE: Duration = Duration::from_millis(500);
const STOP_LIMITS_WITHOUT_DATABASE: StopLimits = StopLimits { requests: WITHOUT_DATABASE, work: WITHOUT_DATABASE };
/// From the first signal to the end of the process, whatever is still going on then.
pub const STOP_PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, clap::Args)]
pub struct UpArgs {
    /// Port of the HTTP API on 127.0.0.1
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Where keys, chain, database and content are kept
    #[arg(long, value_name = "DIR", default_value = ".crtx")]
    pub data_dir: PathBuf,
    /// Name of the network, for the --network of other commands. A data directory keeps its name
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Delete what an earlier run left in the data directory, and start over
    #[arg(long)]
    pub fresh: bool,
    /// When ready, print one JSON line instead of a page
    #[arg(long)]
    pub json: bool,
    /// Which services run in addition to the chain, PostgreSQL and the demo creator
    #[arg(long, value_enum, default_value_t)]
    pub services: Services,
    /// Addresses and address ranges of proxies in front of the API, which may name the clients of requests
    #[arg(long, env = "CRTX_TRUSTED_PROXIES", value_name = "RANGES", value_delimiter = ',')]
    pub trusted_proxies: Vec<AddressRange>,
    /// Agave's solana-test-validator, in place of the embedded network: real slots, expiry and finality
    #[arg(long, env = "CRTX_VALIDATOR", value_name = "FILE")]
    pub validator: Option<PathBuf>,
    /// How long a settlement may take after the time-out of an agent, such as 2m, on a new chain
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub settle_grace: Option<i64>,
    /// Leave the dashboard out, with its wallets
    #[arg(long)]
    pub no_dashboard: bool,
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
    if let Some(name) = &arguments.name {
        check_name(name, &arguments.data_dir)?;
    }
    // The port is taken before anything else is touched.
    let listener = match arguments.services {
        Services::All => Some(bind(arguments.port).await?),
        Services::None => None,
    };
    let mut network = LocalNetwork::open(&arguments.data_dir, arguments.fresh)?;
    let mut running = None;
    let outcome = tokio::select! {
        outcome = serve(&arguments, listener, &mut network, &mut running, started) => outcome,
        () = stop.cancelled() => Ok(()),
    };
    if let Some(running) = running {
        // Without the database no call can end: what is under way goes on after the next start.
        running.stop(if network.database_ended { STOP_LIMITS_WITHOUT_DATABASE } else { STOP_LIMITS }).await;
    }
    let stopped = network.stop().await;
    // The first failure is the one that explains the others.
    outcome.and(stopped)
}

async fn bind(port: u16) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            bail!("port {port} is in use; choose another with --port")
        }
        bound => bound.with_context(|| format!("port {port} cannot be used")),
    }
}

/// Returns only if something fails: the end of `up` is a signal. `listener`: where the API is served; `None` without
/// services.
async fn serve(
    arguments: &UpArgs,
    listener: Option<TcpListener>,
    network: &mut LocalNetwork,
    running: &mut Option<Running>,
    started: Instant,
) -> anyhow::Result<()> {
    let progress = ProgressBar::new(STEPS);
    let options = NetworkOptions { validator: arguments.validator.clone(), settle_grace_s: arguments.settle_grace };
    let marketplace = network.start(&options, &progress).await?;
    let mut base_url = None;
    if let Some(listener) = listener {
        let address = listener.local_addr()?;
        let config = services::config(&marketplace, address, arguments)?;
        let service = Service::new(config, marketplace.pools.clone())?;
        *running = Some(service.start(listener, &network.failure_sender));
        let url = format!("http://{address}");
        progress.step("waiting until the index shows the agents");
        let ready = services::wait_for_agents(&url, &marketplace.pools.indexer, &marketplace.agents);
        tokio::select! {
            ready = ready => ready?,
            error = network.first_failure() => return Err(error),
        }
        base_url = Some(url);
    }
    progress.finish();
    remember(&marketplace, base_url.clone(), arguments.name.as_deref());
    let ready = Ready::new(&marketplace, base_url, !arguments.no_dashboard, started.elapsed());
    if arguments.json {
        output::json(&ready)?;
    } else {
        output::page(&ready.page());
    }
    Err(network.first_failure().await)
}

/// A name of another network that runs cannot be taken.
fn check_name(name: &str, data_dir: &Path) -> anyhow::Result<()> {
    let own = std::fs::canonicalize(data_dir).ok();
    let all = LocalRun::all(&find_folder()?)?;
    let same = |run: &&LocalRun| run.name.as_deref() == Some(name) && own.as_ref() != Some(&run.data_dir);
    match all.iter().find(|run| same(run) && run.is_running()) {
        Some(other) => bail!("the name {name} belongs to a network that runs, {other}; choose another with --name"),
        None => Ok(()),
    }
}

/// Notes for other commands on this machine where the network is. An earlier run of the data directory is replaced, and
/// its name stays unless there is a new one. Without the note the other commands need flags, so a failure is a warning.
fn remember(marketplace: &Marketplace, base_url: Option<String>, name: Option<&str>) {
    let written = find_folder().map_err(anyhow::Error::from).and_then(|folder| {
        let mut run = local_run(marketplace, base_url);
        let earlier = LocalRun::all(&folder)?.into_iter().find(|earlier| earlier.data_dir == run.data_dir);
        run.name = name.map(str::to_owned).or_else(|| earlier?.name);
        run.write(&folder)
    });
    if let Err(error) = written.context("other commands will not find this network by themselves") {
        note!("crtx: warning: {error:#}");
    }
}

fn local_run(marketplace: &Marketplace, base_url: Option<String>) -> LocalRun {
    let wallet = |role: &str| marketplace.wallets.join(format!("{role}.json"));
    LocalRun {
        name: None,
        started_at: chrono::Utc::now().timestamp(),
        base_url,
        rpc_url: marketplace.rpc_url.clone(),
        ws_url: marketplace.ws_url.clone(),
        program_id: marketplace.instructions.addresses.program_id().to_string(),
        usdc_mint: marketplace.instructions.usdc_mint.to_string(),
        data_dir: std::fs::canonicalize(&marketplace.data_dir).unwrap_or_else(|_| marketplace.data_dir.clone()),
        api_key: marketplace.keys.demo.api_key.reveal(),
        keypairs: Keypairs {
            demo: wallet("demo"),
            creator: wallet("creator"),
            admin: wallet("admin"),
            resolver: wallet("resolver"),
        },
    }
}
