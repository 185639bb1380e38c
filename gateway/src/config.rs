//! How one gateway is set up.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crtx_chain::RpcUrls;
use crtx_http::{Links, outbound::OutboundPolicy};
use crtx_protocol::{address::Addresses, api_key::KeyNetwork};
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
    /// Folder of the content store.
    pub content_dir: PathBuf,
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
            .field("content_dir", &self.content_dir)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
