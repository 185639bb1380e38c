//! The `crtx-indexer` service: mirrors a chain into PostgreSQL and serves the read API, configured by
//! flags or environment variables.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::Parser;
use crtx_chain::RpcUrls;
use crtx_http::{
    Links, ServeLimits,
    outbound::OutboundPolicy,
    process::{self, StopSignal},
};
use crtx_indexer::{
    ContentSources, IndexerConfig,
    api::{self, IndexerApiState},
};
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::{Pools, pools::PoolSizes};
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Mirrors the agent-marketplace program into PostgreSQL and serves the read API.
#[derive(Parser)]
#[command(name = "crtx-indexer", version)]
struct Arguments {
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// Solana RPC node, or several with commas between them: the first is preferred.
    #[arg(long = "rpc-urls", alias = "rpc-url", env = "CRTX_RPC_URL", hide_env_values = true)]
    rpc_urls: RpcUrls,
    #[arg(long, env = "CRTX_WS_URL", hide_env_values = true)]
    ws_url: String,
    #[arg(long, env = "CRTX_PROGRAM_ID")]
    program_id: Pubkey,
    #[arg(long, env = "CRTX_INDEXER_LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// Keys of which network are accepted.
    #[arg(long, env = "CRTX_NETWORK", value_enum)]
    network: Network,
    /// URL of an account on a chain explorer, with `{address}` where the address goes.
    #[arg(long, env = "CRTX_EXPLORER_URL")]
    explorer_url: String,
    /// What a CID is appended to in `ipfs_url`.
    #[arg(long, env = "CRTX_IPFS_URL_BASE")]
    ipfs_url_base: String,
    /// Folder with one file per CID, looked into before `--content-base-url`.
    #[arg(long, env = "CRTX_CONTENT_DIR")]
    content_dir: Option<PathBuf>,
    /// URL that a CID is appended to when a listing's document is at an `ipfs://` address.
    #[arg(long, env = "CRTX_CONTENT_BASE_URL")]
    content_base_url: Option<String>,
    /// Seconds between snapshots.
    #[arg(long, env = "CRTX_RESYNC_SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    resync_seconds: u64,
    /// Seconds between audits.
    #[arg(long, env = "CRTX_AUDIT_SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    audit_seconds: u64,
    /// Connections to the database.
    #[arg(long, env = "CRTX_DATABASE_CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..))]
    database_connections: u32,
    /// Ports that listings' documents and endpoints may have, separated by commas.
    #[arg(long, env = "CRTX_OUTBOUND_PORTS", value_delimiter = ',', default_value = "443")]
    outbound_ports: Vec<u16>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Network {
    Live,
    Test,
}

/// From the first signal to the end of the process.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()))
        .with_writer(std::io::stderr)
        .init();
    let arguments = Arguments::parse();
    process::run(STOP_PATIENCE, |stop| async move {
        match run(arguments, stop).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("crtx-indexer: {error:#}");
                ExitCode::FAILURE
            }
        }
    })
}

async fn run(arguments: Arguments, stop: StopSignal) -> anyhow::Result<()> {
    let network = match arguments.network {
        Network::Live => KeyNetwork::Live,
        Network::Test => KeyNetwork::Test,
    };
    let links = Links::new(&arguments.explorer_url, &arguments.ipfs_url_base)?;
    let (pools, listener) = tokio::select! {
        started = start(&arguments) => started?,
        _ = stop.wait() => return Ok(()),
    };
    tracing::info!(address = %arguments.listen, "listening");

    let shutdown = CancellationToken::new();
    let config = IndexerConfig {
        resync_interval: Duration::from_secs(arguments.resync_seconds),
        audit_interval: Duration::from_secs(arguments.audit_seconds),
        outbound: OutboundPolicy::STRICT.with_ports(arguments.outbound_ports),
        content: ContentSources { folder: arguments.content_dir, base_url: arguments.content_base_url },
        ..IndexerConfig::new(arguments.rpc_urls.clone(), &arguments.ws_url, arguments.program_id)
    };
    let router = api::router(IndexerApiState::new(pools.reads, network, links));
    let router = crtx_http::finish(router.merge(crtx_http::docs::router(api::openapi())));
    let stopping = shutdown.clone();
    let stopped = async move {
        stop.wait().await;
        stopping.cancel();
    };
    let serve = async {
        crtx_http::serve(listener, router, ServeLimits::default(), stopped).await.context("the server failed")
    };
    let index =
        async { crtx_indexer::run(config, pools.indexer, shutdown.clone()).await.context("the indexer failed") };
    tokio::try_join!(serve, index)?;
    Ok(())
}

/// What has to be there before anything is served.
async fn start(arguments: &Arguments) -> anyhow::Result<(Pools, TcpListener)> {
    let sizes = PoolSizes::of(arguments.database_connections);
    let pools = Pools::connect(&arguments.database_url, sizes).await.context("the database cannot be reached")?;
    crtx_store::migrate(&pools.indexer).await.context("the schema cannot be brought up to date")?;
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("{} cannot be listened on", arguments.listen))?;
    Ok((pools, listener))
}
