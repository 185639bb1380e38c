//! Configuration of one gateway.

use std::time::Duration;

use crtx_chain::RpcUrls;
use crtx_content::ContentLocation;
use crtx_http::{Links, outbound::OutboundPolicy};
use crtx_protocol::{
    address::Addresses,
    cluster::Cluster,
    webhook::{WebhookKey, WebhookKeyStatement},
};
use crtx_store::{
    admission::{CallLimits, PerSubject},
    held_content::{HoldLimits, HoldingLimits},
};
use solana_pubkey::Pubkey;

use crate::keys::GatewayKeys;

const MIB: u64 = 1024 * 1024;

/// The settings of a gateway, without its database.
#[derive(Clone)]
pub struct GatewayConfig {
    /// RPC nodes; the preferred node comes first.
    pub rpc_urls: RpcUrls,
    pub addresses: Addresses,
    pub usdc_mint: Pubkey,
    /// The program's `gateway_authority`: pays fees and rent, and can only submit signed results and refunds.
    pub keypair: GatewayKeys,
    /// The network. API keys and sign-ins of other ones are refused.
    pub cluster: Cluster,
    /// Which creators' endpoints may be called.
    pub outbound: OutboundPolicy,
    /// Links in answers. Content is linked under the public address of `GET /ipfs/{cid}`.
    pub links: Links,
    pub content: ContentLocation,
    pub limits: Limits,
}

impl GatewayConfig {
    /// The keys with which webhooks are signed, for those who receive them.
    pub fn webhook_keys(&self) -> Vec<WebhookKeyStatement> {
        let program = self.addresses.program_id();
        let keys = self.keypair.all().map(|keypair| WebhookKey::of_gateway(keypair.secret_bytes()));
        keys.map(|key| key.statement(&program)).collect()
    }
}

/// Limits of waits and sizes. The defaults suit every network.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a caller waits for the escrow to be confirmed before 503.
    pub open_patience: Duration,
    /// How long a caller waits for settlement before 202.
    pub settle_patience: Duration,
    /// How long an opening or a result waits for others, to share a transaction with them; with many calls under way,
    /// up to five times as long. While few are under way, only one that follows another one within this time waits.
    pub gather_window: Duration,
    /// How long a caller waits for the refund before the error is returned without it.
    pub refund_patience: Duration,
    /// How long a lease lasts without a sign of life of its worker.
    pub lease: Duration,
    /// How often workers search for abandoned executions.
    pub resume_every: Duration,
    /// How often the chain is searched for open executions of this gateway that are past their deadline.
    pub sweep_every: Duration,
    /// How often the worker looks for records to close, disputes to end and announcements to apply.
    pub housekeeping_every: Duration,
    /// Fees per day that this gateway pays to refund and close executions whose rent others paid, and to end disputes.
    pub lamports_for_others_per_day: u64,
    /// Longest duration of one read of the chain, including all nodes.
    pub rpc_timeout: Duration,
    /// Least price that is offered for a compute unit, in millionths of a lamport. 0: no priority fee on a quiet
    /// network.
    pub compute_unit_price: u64,
    /// The most, whatever a node says that others pay. If it is less than the least, that counts.
    pub max_compute_unit_price: u64,
    /// Content that nothing on chain refers to yet.
    pub held_content: HoldLimits,
    /// Over all gateways of one database. The defaults are far above honest heavy use.
    pub calls: CallLimits,
    /// Calls that this process works on at the same time. One wallet or agent has at most four times as many of them as
    /// are free, so it cannot take the last place.
    pub calls_at_once: u32,
    /// Calls that wait for a place.
    pub calls_queued: u32,
    /// Answers per second, after a burst, to calls of one key that fail or are refused before any money moves.
    pub refused_calls_per_second: u32,
    /// How long a call waits for money that is reserved by openings in progress, before 402.
    pub funds_patience: Duration,
    /// How often the balance of the account that pays for openings and settlements is read between calls.
    pub fee_poll_every: Duration,
    /// If the balance pays for fewer calls, a warning is logged and the status is `low`.
    pub fee_low_calls: u64,
    /// Reserved for settlements and refunds of open calls. Below it, new calls are refused and the status is `empty`.
    pub fee_reserve_lamports: u64,
}

impl Limits {
    /// What is offered for a compute unit at most.
    pub fn highest_unit_price(&self) -> u64 {
        self.compute_unit_price.max(self.max_compute_unit_price)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            open_patience: Duration::from_secs(20),
            settle_patience: Duration::from_secs(20),
            gather_window: Duration::from_millis(5),
            refund_patience: Duration::from_secs(30),
            lease: Duration::from_secs(30),
            resume_every: Duration::from_secs(1),
            sweep_every: Duration::from_secs(30),
            housekeeping_every: Duration::from_secs(30),
            lamports_for_others_per_day: 10_000_000,
            rpc_timeout: Duration::from_secs(10),
            compute_unit_price: 0,
            max_compute_unit_price: 100_000,
            held_content: HoldLimits {
                wallet: HoldingLimits { pieces: 200, bytes: 32 * MIB },
                unknown_wallets: HoldingLimits { pieces: 20_000, bytes: 1_024 * MIB },
                known_wallets: HoldingLimits { pieces: 100_000, bytes: 8 * 1_024 * MIB },
                keep_for: Duration::from_secs(24 * 3_600),
            },
            calls: CallLimits {
                under_way: PerSubject { key: 10_000, wallet: 10_000, agent: 10_000 },
                failures_per_hour: PerSubject { key: 5_000, wallet: 5_000, agent: 10_000 },
            },
            calls_at_once: 256,
            calls_queued: 64,
            refused_calls_per_second: 10,
            funds_patience: Duration::from_secs(2),
            fee_poll_every: Duration::from_secs(10),
            fee_low_calls: 1_000,
            fee_reserve_lamports: 50_000_000,
        }
    }
}
