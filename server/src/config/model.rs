//! Every setting of `crtx-server`. The names of the fields are the keys of the file; the comments are the documentation
//! (`docs/configuration.md`).

use std::{net::SocketAddr, path::PathBuf};

use crtx_chain::RpcUrls;
use crtx_http::AddressRange;
use crtx_mirror::source::Deadlines;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    secret::Secret,
    values::{DatabaseUrl, GrpcUrl, HttpUrl, KeypairText, Network, Text, WebSocketUrls},
};
use crate::role::Role;

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// The Solana network. Required.
    pub network: Option<Network>,
    /// What this process does.
    pub role: Vec<Role>,
    /// Where the HTTP server listens. A process without the role `api` answers only `/healthz` and `/readyz` there.
    pub listen: SocketAddr,
    /// Addresses and address ranges (such as `10.0.0.0/8`) of the proxies in front of this process. Only their
    /// `Forwarded` and `X-Forwarded-For` are believed, and limits by address then count the clients that they name.
    pub trusted_proxies: Vec<Text<AddressRange>>,
    /// URL under which clients reach the API. Content is linked below it. Role `api`: required, except on `local`.
    pub public_url: Option<Text<HttpUrl>>,
    /// Page of an account on a chain explorer, with `{address}` where the address goes. Default: the public explorer
    /// of the network.
    pub explorer_url: Option<String>,
    /// Which log messages are written, in the syntax of `RUST_LOG`.
    pub log: String,
    pub database: DatabaseSettings,
    pub rpc: RpcSettings,
    pub program: ProgramSettings,
    pub content: ContentSettings,
    pub gateway: GatewaySettings,
    pub limits: LimitSettings,
    pub outbound: OutboundSettings,
    pub indexer: IndexerSettings,
    pub metrics: MetricsSettings,
    pub dashboard: DashboardSettings,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct DashboardSettings {
    /// Serve the dashboard at `/`. Role `api`.
    pub enabled: bool,
}

impl Default for DashboardSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct MetricsSettings {
    /// Where this process serves `/metrics` for Prometheus, such as `127.0.0.1:9464`. Anybody who reaches the address can
    /// read them. Default: nowhere.
    pub listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct DatabaseSettings {
    /// `postgres://` URL of the database. Required.
    pub url: Option<Secret<DatabaseUrl>>,
    /// Most connections of this process, divided between paid calls, reads and the indexer.
    #[schemars(range(min = 8, max = 1000))]
    pub connections: u32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct RpcSettings {
    /// URL of a Solana RPC node, or several with commas between them: the first is preferred, the others are asked
    /// when it fails, and each receives every transaction. Required.
    pub urls: Option<Secret<RpcUrls>>,
    /// WebSocket URL of the first RPC node of `urls`, or several with commas between them, in the order of `urls`. The
    /// indexer follows the first one that streams. Role `indexer`: required.
    pub ws_url: Option<Secret<WebSocketUrls>>,
    /// URL of a Yellowstone gRPC server, from which the indexer then gets its changes. While it fails, they come from
    /// `ws_url`.
    pub yellowstone_url: Option<Secret<GrpcUrl>>,
    /// Token of that server, sent as `x-token`.
    pub yellowstone_token: Option<Secret<String>>,
    /// URL of an RPC node that clients may use, shown by `GET /v1/network`. Default: none; on `local` the first of `urls`.
    pub public_url: Option<Text<HttpUrl>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ProgramSettings {
    /// Address of the agent-marketplace program.
    pub id: Text<Pubkey>,
    /// Address of the USDC mint. Roles `api` and `worker`: required.
    pub usdc_mint: Option<Text<Pubkey>>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ContentSettings {
    /// Folder with one file for each CID, shared by all processes. Roles `api` and `worker`: required.
    pub dir: Option<PathBuf>,
    /// URL that a CID is appended to when a listing's document has an `ipfs://` address and is not in the folder.
    pub base_url: Option<Text<HttpUrl>>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct GatewaySettings {
    /// Key pair of the program's gateway authority: a JSON array of 64 numbers. Roles `api` and `worker`: required.
    pub keypair: Option<Secret<KeypairText>>,
    /// Addresses and address ranges (such as `192.0.2.0/24`) from which creators' services are called, shown by
    /// `GET /v1/network`.
    pub outbound_addresses: Vec<Text<AddressRange>>,
    /// Price that is offered for each compute unit, in millionths of a lamport.
    pub compute_unit_price: u64,
    /// Seconds between two rounds of housekeeping: closing records, ending disputes, applying announcements.
    #[schemars(range(min = 1, max = 86_400))]
    pub housekeeping_seconds: u64,
    /// Lamports per day that are spent on fees to refund and close executions whose rent others paid. 0: none.
    pub lamports_for_others_per_day: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct LimitSettings {
    /// Calls that this process works on at a time.
    #[schemars(range(min = 1, max = 100_000))]
    pub calls_at_once: u32,
    /// Calls that wait for one of those.
    #[schemars(range(max = 100_000))]
    pub calls_queued: u32,
    /// Refused calls of one API key that are answered per second, after a burst of 50. Further answers wait.
    #[schemars(range(min = 1, max = 100_000))]
    pub refused_calls_per_second: u32,
    /// Most calls under way of one API key, and of one wallet, over all processes.
    #[schemars(range(min = 1))]
    pub wallet_calls: u32,
    /// Most calls under way to one agent, over all processes.
    #[schemars(range(min = 1))]
    pub agent_calls: u32,
    /// Most failed calls of one API key, and of one wallet, within an hour.
    #[schemars(range(min = 1))]
    pub wallet_failures: u32,
    /// Most failed calls of one agent within an hour.
    #[schemars(range(min = 1))]
    pub agent_failures: u32,
    /// Lamports of the fee payer that are kept for settlements and refunds of open calls. Below, new calls get 503.
    pub fee_reserve_lamports: u64,
    /// The status of the fee payer is `low` when its balance pays for fewer calls than this.
    pub fee_low_calls: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct OutboundSettings {
    /// Ports that endpoints and documents of creators may have. On `local` any port is called.
    pub ports: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct IndexerSettings {
    /// Seconds between snapshots, which repair what the stream of changes missed.
    #[schemars(range(min = 1, max = 86_400))]
    pub resync_seconds: u64,
    /// Hide accounts that the chain no longer has, however many they are. Without it, a node that misses more than 50
    /// accounts and more than one in five hides nothing, and `GET /v1/status` says so.
    pub accept_mass_closing: bool,
    /// Empty the mirror and read it again if the node belongs to another chain. Without it, another chain changes
    /// nothing, and `GET /v1/status` says so.
    pub accept_new_genesis: bool,
    /// Seconds between audits of the mirror against the chain.
    #[schemars(range(min = 1, max = 604_800))]
    pub audit_seconds: u64,
    /// Seconds that the mirror may be old. Reads of an older one get 503 `stale`. Role `api`. 0: no limit.
    #[schemars(range(max = 604_800))]
    pub max_lag_seconds: u64,
    /// Seconds without a message after which a stream of changes counts as broken. The indexer then connects again, or
    /// to the next node.
    #[schemars(range(min = 2, max = 600))]
    pub silence_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            network: None,
            role: Role::ALL.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8081)),
            trusted_proxies: Vec::new(),
            public_url: None,
            explorer_url: None,
            log: "info".to_owned(),
            database: DatabaseSettings::default(),
            rpc: RpcSettings::default(),
            program: ProgramSettings::default(),
            content: ContentSettings::default(),
            gateway: GatewaySettings::default(),
            limits: LimitSettings::default(),
            outbound: OutboundSettings::default(),
            indexer: IndexerSettings::default(),
            metrics: MetricsSettings::default(),
            dashboard: DashboardSettings::default(),
        }
    }
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        Self { url: None, connections: 32 }
    }
}

impl Default for ProgramSettings {
    fn default() -> Self {
        Self { id: Text(agent_marketplace::ID), usdc_mint: None }
    }
}

impl Default for GatewaySettings {
    fn default() -> Self {
        let limits = crtx_gateway::Limits::default();
        Self {
            keypair: None,
            outbound_addresses: Vec::new(),
            compute_unit_price: limits.compute_unit_price,
            housekeeping_seconds: limits.housekeeping_every.as_secs(),
            lamports_for_others_per_day: limits.lamports_for_others_per_day,
        }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        let limits = crtx_gateway::Limits::default();
        let (calls, failures) = (limits.calls.under_way, limits.calls.failures_per_hour);
        Self {
            calls_at_once: limits.calls_at_once,
            calls_queued: limits.calls_queued,
            refused_calls_per_second: limits.refused_calls_per_second,
            wallet_calls: calls.wallet,
            agent_calls: calls.agent,
            wallet_failures: failures.wallet,
            agent_failures: failures.agent,
            fee_reserve_lamports: limits.fee_reserve_lamports,
            fee_low_calls: limits.fee_low_calls,
        }
    }
}

impl Default for OutboundSettings {
    fn default() -> Self {
        Self { ports: vec![443] }
    }
}

impl Default for IndexerSettings {
    fn default() -> Self {
        Self {
            accept_mass_closing: false,
            accept_new_genesis: false,
            resync_seconds: crtx_mirror::config::DEFAULT_RESYNC_INTERVAL.as_secs(),
            audit_seconds: crtx_mirror::config::DEFAULT_AUDIT_INTERVAL.as_secs(),
            max_lag_seconds: crtx_api::DEFAULT_MAX_LAG.as_secs(),
            silence_seconds: Deadlines::default().silence.as_secs(),
        }
    }
}
