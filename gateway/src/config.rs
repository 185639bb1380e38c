//! How one gateway is set up.

use std::{fmt, sync::Arc, time::Duration};

use crtx_chain::RpcUrls;
use crtx_content::ContentLocation;
use crtx_http::{Links, outbound::OutboundPolicy};
use crtx_protocol::{address::Addresses, api_key::KeyNetwork};
use crtx_store::admission::{CallLimits, PerSubject};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;

/// Everything a gateway needs beside its database.
#[derive(Clone)]
pub struct GatewayConfig {
    /// The preferred RPC node first.
    pub rpc_urls: RpcUrls,
    pub addresses: Addresses,
    pub usdc_mint: Pubkey,
    /// Pays fees and rent, and settles: the `gateway_authority` of the program's configuration. It can
    /// submit signed results and refunds, and nothing else.
    pub keypair: Arc<Keypair>,
    /// The network whose API keys are accepted.
    pub network: KeyNetwork,
    /// Which creators' endpoints may be called.
    pub outbound: OutboundPolicy,
    /// Links in answers. Content is linked under the public address of `GET /ipfs/{cid}`.
    pub links: Links,
    pub content: ContentLocation,
    pub limits: Limits,
}

/// Bounds of waiting and of sizes. The defaults suit every network.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest body of a call.
    pub max_body_bytes: usize,
    /// How long a caller waits for the escrow to be confirmed before 503.
    pub open_patience: Duration,
    /// How long a caller waits for settlement before 202.
    pub settle_patience: Duration,
    /// How long a caller waits for the refund before the error is told without it.
    pub refund_patience: Duration,
    /// How long an execution stays with a worker that gives no sign of life.
    pub lease: Duration,
    /// How often workers look for executions that were left behind.
    pub resume_every: Duration,
    /// How often the chain is searched for open executions of this gateway that are past their deadline.
    pub sweep_every: Duration,
    /// One read of the chain, whichever nodes are asked for it.
    pub rpc_timeout: Duration,
    /// What a compute unit is worth on a busy network, in millionths of a lamport. 0: nothing is offered.
    pub compute_unit_price: u64,
    pub admission: AdmissionLimits,
}

/// What a new call is held against before any money moves. The defaults are far above honest heavy use: they bound
/// what one key, wallet or agent can cost this service, and how much work is begun at a time.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Per key, wallet and agent, over all gateways of one database.
    pub calls: CallLimits,
    pub process: ProcessLimits,
    pub refused: RefusedLimits,
    /// How long a call waits for the money of calls that are being opened at this moment, before 402.
    pub funds_patience: Duration,
    pub fee_payer: FeePayerLimits,
}

/// What one process works on at a time.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// Calls from their opening to their end. One wallet, and one agent, has at most four times as many of them
    /// as are free: nobody can take the last one.
    pub calls: u32,
    /// Calls that wait for one of those.
    pub queue: u32,
    /// How long they wait, before 503.
    pub queue_patience: Duration,
}

/// Calls of one key that are refused before any money moves, or that fail, in one process.
#[derive(Clone, Copy, Debug)]
pub struct RefusedLimits {
    /// Answers per second, once the burst is used.
    pub per_second: u32,
    /// Answered at once.
    pub burst: u32,
    /// Answers that wait for their turn. While so many wait, the key's calls get 429.
    pub waiting: u32,
}

/// The SOL of the account that pays for openings and settlements.
#[derive(Clone, Copy, Debug)]
pub struct FeePayerLimits {
    /// How often it is looked at between calls.
    pub look_every: Duration,
    /// Below what so many calls cost, a warning is logged and the status is `low`.
    pub low_calls: u64,
    /// Kept for settlements and refunds of open calls: below it new calls are refused, and the status is `empty`.
    pub reserve_lamports: u64,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            calls: CallLimits {
                under_way: PerSubject { key: 10_000, wallet: 10_000, agent: 10_000 },
                failures_per_hour: PerSubject { key: 5_000, wallet: 5_000, agent: 10_000 },
            },
            process: ProcessLimits { calls: 256, queue: 64, queue_patience: Duration::from_millis(100) },
            refused: RefusedLimits { per_second: 20, burst: 50, waiting: 64 },
            funds_patience: Duration::from_secs(2),
            fee_payer: FeePayerLimits {
                look_every: Duration::from_secs(10),
                low_calls: 1_000,
                reserve_lamports: 50_000_000,
            },
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 1024 * 1024,
            open_patience: Duration::from_secs(20),
            settle_patience: Duration::from_secs(20),
            refund_patience: Duration::from_secs(30),
            lease: Duration::from_secs(30),
            resume_every: Duration::from_secs(1),
            sweep_every: Duration::from_secs(30),
            rpc_timeout: Duration::from_secs(10),
            compute_unit_price: 0,
            admission: AdmissionLimits::default(),
        }
    }
}

impl fmt::Debug for GatewayConfig {
    /// Leaves the key pair out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayConfig")
            .field("rpc_urls", &self.rpc_urls)
            .field("program_id", &self.addresses.program_id())
            .field("usdc_mint", &self.usdc_mint)
            .field("network", &self.network)
            .field("outbound", &self.outbound)
            .field("content", &self.content)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
