//! Every setting of `crtx-server`. The names of the fields are the keys of the file; the comments are the documentation
//! (`docs/configuration.md`).

use std::{net::SocketAddr, path::PathBuf};

use crtx_chain::RpcUrls;
use crtx_gateway::Limits;
use crtx_http::AddressRange;
use crtx_mirror::{
    config::{DEFAULT_AUDIT_INTERVAL, DEFAULT_EVENTS_KEPT, DEFAULT_RESYNC_INTERVAL},
    source::Deadlines,
};
use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    secret::Secret,
    values::{DatabaseUrl, GrpcUrl, HttpUrl, KeypairText, LogFormat, NetworkSetting, Text, WebSocketUrls},
};
use crate::role::Role;

#[derive(Clone, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct ServerSettings {
    /// The Solana network. Required.
    pub network: Option<NetworkSetting>,
    /// What this process does.
    #[educe(Default = Role::ALL.into())]
    pub role: Vec<Role>,
    /// Where the HTTP server listens. A process without the role `api` answers only `/healthz` and `/readyz` there.
    #[educe(Default = SocketAddr::from(([127, 0, 0, 1], 8081)))]
    pub listen: SocketAddr,
    /// Addresses and address ranges (such as `10.0.0.0/8`) of the proxies in front of this process. Only their
    /// `Forwarded` and `X-Forwarded-For` are believed, and limits by address then count the clients that they name.
    pub trusted_proxies: Vec<Text<AddressRange>>,
    /// URL under which clients reach the API. Content is linked below it. Role `api`: required, except on `local`.
    pub public_url: Option<Text<HttpUrl>>,
    /// Base URL of the deployment of the other network: of `devnet` for `mainnet`, and the other way round. Requests with
    /// an API key of that network are passed on to it, so that one address serves both. It has to list this process in
    /// its `trusted_proxies`. The keys travel to it: over https, unless the way is private. Role `api`.
    pub other_network_url: Option<Text<HttpUrl>>,
    /// Page of an account on a chain explorer, with `{address}` where the address goes. Default: the public explorer
    /// of the network.
    pub explorer_url: Option<String>,
    /// Which log messages are written, in the syntax of `RUST_LOG`.
    #[educe(Default = "info".to_owned())]
    pub log: String,
    /// `json`: each line of the log is an object, with the request and the execution that it belongs to in `spans`.
    pub log_format: LogFormat,
    pub database: DatabaseSettings,
    pub rpc: RpcSettings,
    pub program: ProgramSettings,
    pub content: ContentSettings,
    pub gateway: GatewaySettings,
    pub limits: LimitSettings,
    pub outbound: OutboundSettings,
    pub indexer: IndexerSettings,
    pub metrics: MetricsSettings,
    pub traces: TracesSettings,
    pub dashboard: DashboardSettings,
}

#[derive(Clone, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct DashboardSettings {
    /// Serve the dashboard at `/`. Role `api`.
    #[educe(Default = true)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct MetricsSettings {
    /// Where this process serves `/metrics` for Prometheus, such as `127.0.0.1:9464`. Anybody who reaches the address can
    /// read them. Default: nowhere.
    pub listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct TracesSettings {
    /// URL of an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`. It gets a trace of each call,
    /// whose id is the execution's. Default: none.
    pub endpoint: Option<Text<HttpUrl>>,
}

#[derive(Clone, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct DatabaseSettings {
    /// `postgres://` URL of the database. Required.
    pub url: Option<Secret<DatabaseUrl>>,
    /// URL of a standby of that database, to which the reads of the API then go. The primary must have
    /// `synchronous_commit = remote_apply`, so that reads show what was acknowledged. Role `api`.
    pub standby_url: Option<Secret<DatabaseUrl>>,
    /// Most connections of this process, divided between paid calls, reads and the indexer.
    #[schemars(range(min = 8, max = 1000))]
    #[educe(Default = 32)]
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

#[derive(Clone, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct ProgramSettings {
    /// Address of the agent-marketplace program.
    #[educe(Default = Text(agent_marketplace::ID))]
    pub id: Text<Pubkey>,
    /// Address of the USDC mint. Roles `api` and `worker`: required.
    pub usdc_mint: Option<Text<Pubkey>>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ContentSettings {
    /// Folder with one file for each CID, shared by all processes. Roles `api` and `worker`: required, unless there is
    /// `s3_bucket`.
    pub dir: Option<PathBuf>,
    /// Bucket of an S3-compatible service in place of `dir`, for processes on several machines. Long answers of creators
    /// are then in the folder that `TMPDIR` names while they are read.
    pub s3_bucket: Option<String>,
    /// Put before the names of objects, such as `crtx/`.
    pub s3_prefix: Option<String>,
    /// URL of the service. Default: that of AWS in the region.
    pub s3_endpoint: Option<Text<HttpUrl>>,
    /// Default: `AWS_REGION`, else `us-east-1`.
    pub s3_region: Option<String>,
    /// Access key of the service. It may read, write and delete objects, and list the bucket: otherwise an object that is
    /// missing looks like one that may not be read. Default: what the variables of AWS name
    /// (`AWS_ACCESS_KEY_ID`, a web identity, a container's credentials), else the role of the machine.
    pub s3_access_key_id: Option<Secret<String>>,
    /// Secret of that access key.
    pub s3_secret_access_key: Option<Secret<String>>,
    /// URL that a CID is appended to when a listing's document has an `ipfs://` address and is not stored here.
    pub base_url: Option<Text<HttpUrl>>,
}

#[derive(Clone, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct GatewaySettings {
    /// Key pair of the program's gateway authority: a JSON array of 64 numbers. Roles `api` and `worker`: required.
    pub keypair: Option<Secret<KeypairText>>,
    /// A second key pair, while one replaces the other. The process signs with the one that the program's configuration
    /// names, so the change on chain stops no call.
    pub other_keypair: Option<Secret<KeypairText>>,
    /// Addresses and address ranges (such as `192.0.2.0/24`) from which creators' services are called, shown by
    /// `GET /v1/network`.
    pub outbound_addresses: Vec<Text<AddressRange>>,
    /// Least price that is offered for each compute unit, in millionths of a lamport.
    #[educe(Default = Limits::default().compute_unit_price)]
    pub compute_unit_price: u64,
    /// Highest price: between the two, what others paid of late, and more for a settlement whose deadline is near. A
    /// transaction has at most 1 400 000 units, so 100 000 are at most 140 000 lamports. If it is lower than
    /// `compute_unit_price`, that is the only price.
    #[educe(Default = Limits::default().max_compute_unit_price)]
    pub max_compute_unit_price: u64,
    /// Seconds between two rounds of housekeeping: closing records, ending disputes, applying announcements.
    #[schemars(range(min = 1, max = 86_400))]
    #[educe(Default = Limits::default().housekeeping_every.as_secs())]
    pub housekeeping_seconds: u64,
    /// Lamports per day that are spent on fees to refund and close executions whose rent others paid. 0: none.
    #[educe(Default = Limits::default().lamports_for_others_per_day)]
    pub lamports_for_others_per_day: u64,
}

#[derive(Clone, Copy, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct LimitSettings {
    /// Calls that this process works on at a time.
    #[schemars(range(min = 1, max = 100_000))]
    #[educe(Default = Limits::default().calls_at_once)]
    pub calls_at_once: u32,
    /// Calls that wait for one of those.
    #[schemars(range(max = 100_000))]
    #[educe(Default = Limits::default().calls_queued)]
    pub calls_queued: u32,
    /// Refused calls of one API key that are answered per second, after a burst of 50. Further answers wait.
    #[schemars(range(min = 1, max = 100_000))]
    #[educe(Default = Limits::default().refused_calls_per_second)]
    pub refused_calls_per_second: u32,
    /// Most calls under way of one API key, and of one wallet, over all processes.
    #[schemars(range(min = 1))]
    #[educe(Default = Limits::default().calls.under_way.wallet)]
    pub wallet_calls: u32,
    /// Most calls under way to one agent, over all processes.
    #[schemars(range(min = 1))]
    #[educe(Default = Limits::default().calls.under_way.agent)]
    pub agent_calls: u32,
    /// Most failed calls of one API key, and of one wallet, within an hour.
    #[schemars(range(min = 1))]
    #[educe(Default = Limits::default().calls.failures_per_hour.wallet)]
    pub wallet_failures: u32,
    /// Most failed calls of one agent within an hour.
    #[schemars(range(min = 1))]
    #[educe(Default = Limits::default().calls.failures_per_hour.agent)]
    pub agent_failures: u32,
    /// Lamports of the fee payer that are kept for settlements and refunds of open calls. Below, new calls get 503.
    #[educe(Default = Limits::default().fee_reserve_lamports)]
    pub fee_reserve_lamports: u64,
    /// The status of the fee payer is `low` when its balance pays for fewer calls than this.
    #[educe(Default = Limits::default().fee_low_calls)]
    pub fee_low_calls: u64,
}

#[derive(Clone, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct OutboundSettings {
    /// Ports that endpoints and documents of creators may have. On `local` any port is called.
    #[educe(Default = vec![443])]
    pub ports: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Educe, Deserialize, Serialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct IndexerSettings {
    /// Seconds between snapshots, which repair what the stream of changes missed.
    #[schemars(range(min = 1, max = 86_400))]
    #[educe(Default = DEFAULT_RESYNC_INTERVAL.as_secs())]
    pub resync_seconds: u64,
    /// Hide accounts that the chain no longer has, however many they are. Without it, a node that misses more than 50
    /// accounts and more than one in five hides nothing, and `GET /v1/status` says so.
    pub accept_mass_closing: bool,
    /// Empty the mirror and read it again if the node belongs to another chain. Without it, another chain changes
    /// nothing, and `GET /v1/status` says so.
    pub accept_new_genesis: bool,
    /// Seconds between audits of the mirror against the chain.
    #[schemars(range(min = 1, max = 604_800))]
    #[educe(Default = DEFAULT_AUDIT_INTERVAL.as_secs())]
    pub audit_seconds: u64,
    /// Days after which events of the log are deleted.
    #[schemars(range(min = 1, max = 36_500))]
    #[educe(Default = DEFAULT_EVENTS_KEPT.num_days().unsigned_abs())]
    pub events_kept_days: u64,
    /// Seconds that the mirror may be old. Reads of an older one get 503 `stale`. Role `api`. 0: no limit.
    #[schemars(range(max = 604_800))]
    #[educe(Default = crtx_api::DEFAULT_MAX_LAG.as_secs())]
    pub max_lag_seconds: u64,
    /// Seconds without a message after which a stream of changes counts as broken. The indexer then connects again, or
    /// to the next node.
    #[schemars(range(min = 2, max = 600))]
    #[educe(Default = Deadlines::default().silence.as_secs())]
    pub silence_seconds: u64,
}
