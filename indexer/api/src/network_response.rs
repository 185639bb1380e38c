//! The body of `GET /v1/network`.

use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::{NetworkParameters, NetworkRoles};
use serde::Serialize;
use utoipa::ToSchema;

use crate::types::Timestamp;

/// Everything that a client needs to build transactions for this deployment.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NetworkResponse {
    /// `local`, `devnet` or `mainnet`.
    pub network: &'static str,
    /// The wallet standard's identifier, such as `solana:devnet`.
    pub chain: &'static str,
    /// What API keys of this network begin with.
    pub key_prefix: &'static str,
    /// null before the mirror knows it.
    #[schema(required)]
    pub genesis_hash: Option<String>,
    pub program_id: String,
    pub usdc_mint: String,
    pub usdc_decimals: u8,
    pub addresses: NetworkAddresses,
    pub seeds: NetworkSeeds,
    pub roles: NetworkRoles,
    /// null if none are announced.
    #[schema(required)]
    pub announced_roles: Option<AnnouncedRoles>,
    pub parameters: NetworkParameters,
    /// null if none are announced.
    #[schema(required)]
    pub announced_parameters: Option<AnnouncedParameters>,
    /// Whether new listings and calls are refused. Settlement, refund and dispute go on.
    pub paused: bool,
    /// The standard tags of listings. Creators may use others.
    pub tags: Vec<&'static str>,
    pub limits: NetworkLimits,
    /// Addresses and address ranges from which creators' services are called. Empty: not published.
    pub outbound_addresses: Vec<String>,
    pub explorer: ExplorerLinks,
    /// An RPC node that clients may use. null: use one of your own.
    #[schema(required)]
    pub rpc_url: Option<String>,
    /// Where this API is.
    pub base_url: String,
    /// Content is at this URL, `/`, and its CID.
    pub ipfs_url_base: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NetworkAddresses {
    /// The account of roles and parameters.
    pub config: String,
    /// Signs the program's events.
    pub event_authority: String,
    pub token_program: String,
    pub associated_token_program: String,
}

/// First seeds of the program's addresses; the others are in the IDL.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NetworkSeeds {
    pub creator: String,
    pub agent: String,
    pub escrow: String,
    pub collateral: String,
    pub execution: String,
    pub dispute: String,
    pub grant: String,
    pub spender: String,
}

/// Successors; null where a role does not change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AnnouncedRoles {
    #[schema(required)]
    pub resolver: Option<String>,
    #[schema(required)]
    pub treasury_owner: Option<String>,
    #[schema(required)]
    pub insurance_owner: Option<String>,
    /// First second in which they can be applied.
    pub apply_from: Timestamp,
    /// From then on they cannot be applied any more.
    pub lapses_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AnnouncedParameters {
    #[serde(flatten)]
    pub parameters: NetworkParameters,
    /// First second in which they can be applied.
    pub apply_from: Timestamp,
    /// From then on they cannot be applied any more.
    pub lapses_at: Timestamp,
}

/// Limits of the program and of the protocol. Sizes are bytes, unless the name says otherwise.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NetworkLimits {
    #[schema(value_type = f64)]
    pub max_price_usdc: UsdcBase,
    pub min_timeout_seconds: u32,
    pub max_timeout_seconds: u32,
    pub default_timeout_seconds: u32,
    /// Agents that a spending grant may name.
    pub max_grant_agents: usize,
    pub max_display_name_bytes: usize,
    pub max_metadata_uri_bytes: usize,
    pub max_evidence_uri_bytes: usize,
    pub max_metadata_bytes: usize,
    pub max_name_chars: usize,
    pub max_tagline_chars: usize,
    pub max_description_chars: usize,
    pub max_endpoint_chars: usize,
    pub max_tags: usize,
    pub max_tag_chars: usize,
    pub max_schema_bytes: usize,
    pub max_schema_depth: usize,
    pub max_result_bytes: usize,
    pub max_answer_bytes: usize,
    pub max_steps_bytes: usize,
    pub max_tokens_used: u64,
    /// Seconds that a creator has to answer a dispute before it is decided.
    pub dispute_answer_seconds: i64,
    /// Seconds after which an undecided dispute ends.
    pub dispute_limit_seconds: i64,
    /// Seconds between the announcement of roles and their first second.
    pub role_delay_seconds: i64,
    /// Seconds between the announcement of parameters and their first second.
    pub parameter_delay_seconds: i64,
}

/// URLs with `{address}` or `{signature}` where the value goes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExplorerLinks {
    pub account: String,
    /// null if the explorer's page of transactions is not known.
    #[schema(required)]
    pub transaction: Option<String>,
}
