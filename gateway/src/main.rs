//! The `crtx-gateway` service: configured by flags and environment, stopped by Ctrl-C or SIGTERM.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use crtx_chain::RpcUrls;
use crtx_gateway::{AdmissionLimits, Gateway, GatewayConfig, Limits};
use crtx_http::{
    Links, ServeLimits,
    outbound::OutboundPolicy,
    process::{self, StopSignal},
};
use crtx_protocol::{address::Addresses, api_key::KeyNetwork};
use crtx_store::{
    admission::PerSubject,
    pools::{self, PoolLimits},
};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Takes paid calls and serves content.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen.
    #[arg(long, env = "CRTX_LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    #[arg(long, env = "CRTX_DATABASE_CONNECTIONS", default_value_t = 8)]
    database_connections: u32,
    /// Solana RPC node, or several with commas between them: the first is preferred, the others are asked
    /// when it fails, and each gets every transaction.
    #[arg(long = "rpc-urls", alias = "rpc-url", env = "CRTX_RPC_URL", hide_env_values = true)]
    rpc_urls: RpcUrls,
    #[arg(long, env = "CRTX_PROGRAM_ID", default_value_t = agent_marketplace::ID)]
    program_id: Pubkey,
    #[arg(long, env = "CRTX_USDC_MINT")]
    usdc_mint: Pubkey,
    /// Key pair file (a JSON array of 64 numbers) of the program's gateway authority.
    #[arg(long, env = "CRTX_GATEWAY_KEYPAIR")]
    keypair: PathBuf,
    #[arg(long, env = "CRTX_NETWORK", value_enum)]
    network: Network,
    /// URL under which clients reach this service: content is linked below it.
    #[arg(long, env = "CRTX_PUBLIC_URL")]
    public_url: String,
    /// Explorer page of an account, with `{address}` in it. Left out: the public explorer of the network.
    #[arg(long, env = "CRTX_EXPLORER_URL")]
    explorer_url: Option<String>,
    /// Folder of the content store.
    #[arg(long, env = "CRTX_CONTENT_DIR")]
    content_dir: PathBuf,
    /// Offered for each compute unit, in millionths of a lamport.
    #[arg(long, env = "CRTX_COMPUTE_UNIT_PRICE", default_value_t = 0)]
    compute_unit_price: u64,
    /// Ports that creators' endpoints may have, separated by commas. On a local network any port is called.
    #[arg(long, env = "CRTX_OUTBOUND_PORTS", value_delimiter = ',', default_value = "443")]
    outbound_ports: Vec<u16>,
    #[command(flatten)]
    admission: AdmissionOptions,
}

/// What a new call is held against before any money moves.
#[derive(clap::Args)]
struct AdmissionOptions {
    /// Calls that this process works on at a time.
    #[arg(long, env = "CRTX_CALLS_AT_ONCE", default_value_t = AdmissionLimits::default().process.calls)]
    calls_at_once: u32,
    /// Calls that wait for one of those.
    #[arg(long, env = "CRTX_CALLS_QUEUED", default_value_t = AdmissionLimits::default().process.queue)]
    calls_queued: u32,
    /// Most calls under way of one key, and of one wallet, over all gateways.
    #[arg(long, env = "CRTX_WALLET_CALLS", default_value_t = AdmissionLimits::default().calls.under_way.wallet)]
    wallet_calls: u32,
    /// Most calls under way to one agent, over all gateways.
    #[arg(long, env = "CRTX_AGENT_CALLS", default_value_t = AdmissionLimits::default().calls.under_way.agent)]
    agent_calls: u32,
    /// Most failed calls of one key, and of one wallet, within an hour.
    #[arg(long, env = "CRTX_WALLET_FAILURES", default_value_t = AdmissionLimits::default().calls.failures_per_hour.wallet)]
    wallet_failures: u32,
    /// Most failed calls of one agent within an hour.
    #[arg(long, env = "CRTX_AGENT_FAILURES", default_value_t = AdmissionLimits::default().calls.failures_per_hour.agent)]
    agent_failures: u32,
    /// Lamports of the fee payer that are kept for settlements and refunds of open calls.
    #[arg(long, env = "CRTX_FEE_RESERVE_LAMPORTS", default_value_t = AdmissionLimits::default().fee_payer.reserve_lamports)]
    fee_reserve_lamports: u64,
    /// The fee payer's balance is called low below what so many calls cost.
    #[arg(long, env = "CRTX_FEE_LOW_CALLS", default_value_t = AdmissionLimits::default().fee_payer.low_calls)]
    fee_low_calls: u64,
}

impl AdmissionOptions {
    fn limits(&self) -> AdmissionLimits {
        let mut limits = AdmissionLimits::default();
        (limits.process.calls, limits.process.queue) = (self.calls_at_once, self.calls_queued);
        let (calls, failures) = (self.wallet_calls, self.wallet_failures);
        limits.calls.under_way = PerSubject { key: calls, wallet: calls, agent: self.agent_calls };
        limits.calls.failures_per_hour = PerSubject { key: failures, wallet: failures, agent: self.agent_failures };
        limits.fee_payer.reserve_lamports = self.fee_reserve_lamports;
        limits.fee_payer.low_calls = self.fee_low_calls;
        limits
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Network {
    Mainnet,
    Devnet,
    /// Also calls http endpoints and addresses of this machine.
    Local,
}

impl Options {
    fn links(&self) -> Result<Links> {
        let content = format!("{}/ipfs", self.public_url.trim_end_matches('/'));
        let explorer = match (&self.explorer_url, self.network) {
            (Some(url), _) => url.as_str(),
            (None, Network::Local) => return Ok(Links::local(&self.public_url, self.rpc_urls.first())),
            (None, Network::Mainnet) => "https://explorer.solana.com/address/{address}",
            (None, Network::Devnet) => "https://explorer.solana.com/address/{address}?cluster=devnet",
        };
        Ok(Links::new(explorer, &content)?)
    }

    fn config(&self) -> Result<GatewayConfig> {
        Ok(GatewayConfig {
            rpc_urls: self.rpc_urls.clone(),
            addresses: Addresses::new(self.program_id),
            usdc_mint: self.usdc_mint,
            keypair: Arc::new(read_keypair(&self.keypair)?),
            network: match self.network {
                Network::Mainnet => KeyNetwork::Live,
                Network::Devnet | Network::Local => KeyNetwork::Test,
            },
            outbound: match self.network {
                Network::Mainnet | Network::Devnet => OutboundPolicy::STRICT.with_ports(self.outbound_ports.clone()),
                Network::Local => OutboundPolicy::LOCAL,
            },
            links: self.links()?,
            content_dir: self.content_dir.clone(),
            limits: Limits {
                compute_unit_price: self.compute_unit_price,
                admission: self.admission.limits(),
                ..Limits::default()
            },
        })
    }
}

fn read_keypair(path: &std::path::Path) -> Result<Keypair> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let not_a_keypair = || format!("{} does not hold a key pair", path.display());
    let bytes: Vec<u8> = serde_json::from_str(&text).with_context(not_a_keypair)?;
    Keypair::try_from(bytes.as_slice()).with_context(not_a_keypair)
}

/// Mirror rows are written by one task.
const MIRROR_CONNECTIONS: u32 = 1;

/// From the first signal to the end of the process: requests, then the calls behind them.
const STOP_PATIENCE: Duration = Duration::from_secs(25);

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let options = Options::parse();
    process::run(STOP_PATIENCE, |stop| async move {
        match run(options, stop).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("crtx-gateway: {error:#}");
                ExitCode::FAILURE
            }
        }
    })
}

async fn run(options: Options, stop: StopSignal) -> Result<()> {
    let (gateway, listener) = tokio::select! {
        started = start(&options) => started?,
        _ = stop.wait() => return Ok(()),
    };
    tracing::info!(address = %options.listen, authority = %gateway.authority(), "ready");

    let shutdown = CancellationToken::new();
    let worker = tokio::spawn(crtx_gateway::run(gateway.clone(), shutdown.clone()));
    let router = crtx_gateway::api::router(gateway).merge(crtx_http::docs::router(crtx_gateway::api::openapi()));
    let stopped = async {
        stop.wait().await;
        shutdown.cancel();
    };
    crtx_http::serve(listener, crtx_http::finish(router), ServeLimits::default(), stopped).await?;
    worker.await?;
    Ok(())
}

/// What has to be there before anything is served.
async fn start(options: &Options) -> Result<(Gateway, TcpListener)> {
    let pool = pools::open(&options.database_url, PoolLimits::money(options.database_connections))?;
    crtx_store::migrate(&pool).await?;
    let mirror = pools::open(&options.database_url, PoolLimits::mirror(MIRROR_CONNECTIONS))?;
    let gateway = Gateway::new(options.config()?, pool, mirror)?;
    gateway.check().await?;
    let listener =
        TcpListener::bind(options.listen).await.with_context(|| format!("cannot listen on {}", options.listen))?;
    Ok((gateway, listener))
}
