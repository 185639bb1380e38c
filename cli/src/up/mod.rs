//! `crtx up`: starts a local network and the marketplace's services over it, prints where they are, and stops them
//! in the opposite order.

mod local_run;
mod progress;
mod ready;
mod services;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use crtx_http::AddressRange;
use crtx_localnet::{LocalNetwork, Marketplace, Progress};
use crtx_server::{Running, Service, ServiceConfig, StopLimits, process::StopSignal};
use tokio::net::TcpListener;

use self::{progress::ProgressBar, ready::Ready};
use crate::{output, settings::parse_name};

const STEPS: u64 = 4;
/// How long a stop waits for requests under way, and for the calls that the services are in.
const STOP_LIMITS: StopLimits = StopLimits { requests: Duration::from_secs(7), work: Duration::from_secs(20) };
/// How long a stop waits for anything that needs a database which has ended.
const WITHOUT_DATABASE: Duration = Duration::from_millis(500);
const STOP_LIMITS_WITHOUT_DATABASE: StopLimits = StopLimits { requests: WITHOUT_DATABASE, work: WITHOUT_DATABASE };
/// From the first signal to the end of the process, whatever is still going on then.
pub const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// Arguments of `crtx up`.
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
        local_run::check_name(name, &arguments.data_dir)?;
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
        running.stop(if network.database_ended() { STOP_LIMITS_WITHOUT_DATABASE } else { STOP_LIMITS }).await;
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
    let marketplace = network.start(&progress).await?;
    let mut base_url = None;
    if let Some(listener) = listener {
        let url = format!("http://{}", listener.local_addr()?);
        *running = Some(start_services(&marketplace, listener, &url, arguments, network)?);
        progress.step("waiting until the index shows the agents");
        let ready = services::wait_for_agents(&url, &marketplace.pools.indexer, &marketplace.agents);
        tokio::select! {
            ready = ready => ready?,
            error = network.first_failure() => return Err(error),
        }
        base_url = Some(url);
    }
    progress.finish();
    local_run::remember(&marketplace, base_url.clone(), arguments.name.as_deref());
    let ready = Ready::new(&marketplace, base_url, !arguments.no_dashboard, started.elapsed());
    if arguments.json {
        output::json(&ready)?;
    } else {
        output::page(&ready.page());
    }
    Err(network.first_failure().await)
}

fn start_services(
    marketplace: &Marketplace,
    listener: TcpListener,
    base_url: &str,
    arguments: &UpArgs,
    network: &LocalNetwork,
) -> anyhow::Result<Running> {
    let config = services::config(marketplace, base_url, !arguments.no_dashboard)?;
    let config = ServiceConfig { trusted_proxies: arguments.trusted_proxies.iter().copied().collect(), ..config };
    let service = Service::new(config, marketplace.pools.clone())?;
    Ok(service.start(listener, network.failure_sender()))
}
