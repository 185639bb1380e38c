//! `GET /v1/network`: the facts of a deployment, from its settings, the mirror, and the constants of the program.

use agent_marketplace::state::{
    Config, DEFAULT_TIMEOUT_S, Dispute, MAX_ALLOWED_AGENTS, MAX_DISPLAY_NAME_BYTES, MAX_EVIDENCE_URI_BYTES,
    MAX_METADATA_URI_BYTES, MAX_PRICE, MAX_TIMEOUT_S, MIN_TIMEOUT_S,
};
use axum::extract::State;
use crtx_chain::{
    instructions::event_authority_address,
    token::{ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID, USDC_DECIMALS},
};
use crtx_http::{ApiError, ApiQuery, ErrorBody, KeptBody};
use crtx_protocol::{
    cluster::Cluster, creator_answer, metadata, result_hash::format_signature, seeds, usdc::UsdcBase,
    webhook::WebhookKeyStatement,
};
use crtx_store::{
    mirror,
    pools::ReadConnection,
    reads::{self, AnnouncedParameters, AnnouncedRoles, Configuration, NetworkParameters, NetworkRoles},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{deployment::Deployment, state::ApiState};

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
    /// Whether new calls are refused. Settlement, refund and dispute go on.
    pub openings_paused: bool,
    /// Whether new listings are refused.
    pub listings_paused: bool,
    /// The standard tags of listings. Creators may use others.
    pub tags: Vec<&'static str>,
    pub limits: NetworkLimits,
    /// Addresses and address ranges from which creators' services are called. Empty: not published.
    pub outbound_addresses: Vec<String>,
    /// The keys with which `v1a` of webhooks is signed. Two while one replaces the other.
    pub webhook_keys: Vec<NetworkWebhookKey>,
    pub explorer: ExplorerLinks,
    /// An RPC node that clients may use. null: use one of your own.
    #[schema(required)]
    pub rpc_url: Option<String>,
    /// Where this API is.
    pub base_url: String,
    /// Content is at this URL, `/`, and its CID.
    pub ipfs_url_base: String,
}

/// A key of webhooks, and the gateway's signature that it is one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NetworkWebhookKey {
    /// `whpk_` and the base64 form of an Ed25519 public key.
    pub public_key: String,
    /// Whose key it is. Compare it with the configuration on chain.
    pub gateway_authority: String,
    /// Of the gateway authority over the text `crtx-webhook-key-v1:<program id>:<public_key>`.
    pub signature: String,
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

/// Structs of constants. Each field stands with its documentation, its type and its value.
macro_rules! constants {
    ($($(#[$about:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $kind:ident = $value:expr,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, ToSchema)]
        pub struct $name { $($(#[$of_field])* pub $field: $kind,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $value,)* }
            }
        }
    )*};
}

constants! {
    /// First seeds of the program's addresses; the others are in the IDL.
    NetworkSeeds {
        creator: String = text(seeds::CREATOR),
        agent: String = text(seeds::AGENT),
        escrow: String = text(seeds::ESCROW),
        collateral: String = text(seeds::COLLATERAL),
        execution: String = text(seeds::EXECUTION),
        dispute: String = text(seeds::DISPUTE),
        grant: String = text(seeds::GRANT),
        spender: String = text(seeds::SPENDER),
    }

    /// Limits of the program and of the protocol. Sizes are bytes, unless the name says otherwise.
    NetworkLimits {
        #[schema(value_type = f64)]
        max_price_usdc: UsdcBase = UsdcBase(MAX_PRICE),
        min_timeout_seconds: u32 = MIN_TIMEOUT_S,
        max_timeout_seconds: u32 = MAX_TIMEOUT_S,
        default_timeout_seconds: u32 = DEFAULT_TIMEOUT_S,
        /// Agents that a spending grant may name.
        max_grant_agents: usize = MAX_ALLOWED_AGENTS,
        max_display_name_bytes: usize = MAX_DISPLAY_NAME_BYTES,
        max_metadata_uri_bytes: usize = MAX_METADATA_URI_BYTES,
        max_evidence_uri_bytes: usize = MAX_EVIDENCE_URI_BYTES,
        max_metadata_bytes: usize = metadata::MAX_BYTES,
        max_name_chars: usize = metadata::MAX_NAME_CHARS,
        max_tagline_chars: usize = metadata::MAX_TAGLINE_CHARS,
        max_description_chars: usize = metadata::MAX_DESCRIPTION_CHARS,
        max_endpoint_chars: usize = metadata::MAX_ENDPOINT_CHARS,
        max_tags: usize = metadata::MAX_TAGS,
        max_tag_chars: usize = metadata::MAX_TAG_CHARS,
        max_schema_bytes: usize = crtx_schema::limits::MAX_BYTES,
        max_schema_depth: usize = crtx_schema::limits::MAX_DEPTH,
        max_result_bytes: usize = creator_answer::MAX_RESULT_BYTES,
        max_answer_bytes: usize = creator_answer::MAX_ANSWER_BYTES,
        max_steps_bytes: usize = creator_answer::MAX_STEPS_BYTES,
        max_tokens_used: u64 = creator_answer::MAX_TOKENS_USED,
        /// Seconds that a creator has to answer a dispute before it is decided.
        dispute_answer_seconds: i64 = Dispute::ANSWER_PERIOD_S,
        /// Seconds after which an undecided dispute ends.
        dispute_limit_seconds: i64 = Dispute::LIMIT_S,
        /// Seconds between the announcement of roles and their first second.
        role_delay_seconds: i64 = Config::ROLE_DELAY_S,
        /// Seconds between the announcement of parameters and their first second.
        parameter_delay_seconds: i64 = Config::PARAMETERS_DELAY_S,
    }
}

/// URLs with `{address}` or `{signature}` where the value goes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExplorerLinks {
    pub account: String,
    /// null if the explorer's page of transactions is not known.
    #[schema(required)]
    pub transaction: Option<String>,
}

/// What clients need to build transactions: network, addresses, roles, parameters, limits, links. It may be some seconds
/// old.
#[utoipa::path(
    get, path = "/v1/network", tag = "service", operation_id = "network",
    responses(
        (status = 200, description = "The deployment", body = NetworkResponse),
        (status = 503, description = "`unavailable`: the mirror has no configuration yet; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn network(State(state): State<ApiState>, ApiQuery(()): ApiQuery<()>) -> Result<KeptBody, ApiError> {
    let read = async |connection: &mut ReadConnection| {
        let configuration = reads::configuration(&mut **connection).await?;
        let configuration =
            configuration.ok_or_else(|| ApiError::unavailable("the mirror has no configuration of the program yet"))?;
        let genesis_hash = mirror::checkpoint(&mut **connection).await?.and_then(|checkpoint| checkpoint.genesis_hash);
        Ok(response(&state.shared.deployment, configuration, genesis_hash))
    };
    state.kept_answer("network", state.shared.connections.kept_list(read)).await
}

fn response(deployment: &Deployment, configuration: Configuration, genesis_hash: Option<String>) -> NetworkResponse {
    let Deployment { cluster, addresses, links, public_rpc_url, outbound_addresses, webhook_keys, .. } = deployment;
    let program = addresses.program_id();
    NetworkResponse {
        network: network_name(*cluster),
        chain: cluster.chain_id(),
        key_prefix: cluster.key_network().prefix(),
        genesis_hash,
        program_id: program.to_string(),
        usdc_mint: configuration.usdc_mint,
        usdc_decimals: USDC_DECIMALS,
        addresses: NetworkAddresses {
            config: addresses.config().to_string(),
            event_authority: event_authority_address(&program).to_string(),
            token_program: TOKEN_PROGRAM_ID.to_string(),
            associated_token_program: ASSOCIATED_TOKEN_PROGRAM_ID.to_string(),
        },
        seeds: NetworkSeeds::default(),
        roles: configuration.roles,
        announced_roles: configuration.announced_roles,
        parameters: configuration.parameters,
        announced_parameters: configuration.announced_parameters,
        openings_paused: configuration.openings_paused,
        listings_paused: configuration.listings_paused,
        tags: metadata::STANDARD_TAGS.to_vec(),
        limits: NetworkLimits::default(),
        outbound_addresses: outbound_addresses.clone(),
        webhook_keys: webhook_keys.iter().map(NetworkWebhookKey::from).collect(),
        explorer: ExplorerLinks { account: links.account_template.clone(), transaction: links.transaction_template() },
        rpc_url: public_rpc_url.clone(),
        base_url: links.site().url().to_owned(),
        ipfs_url_base: links.ipfs_url_base.clone(),
    }
}

impl From<&WebhookKeyStatement> for NetworkWebhookKey {
    fn from(statement: &WebhookKeyStatement) -> Self {
        Self {
            public_key: statement.public_key.clone(),
            gateway_authority: statement.gateway_authority.to_string(),
            signature: format_signature(&statement.signature),
        }
    }
}

const fn network_name(cluster: Cluster) -> &'static str {
    match cluster {
        Cluster::Localnet => "local",
        Cluster::Devnet => "devnet",
        Cluster::Mainnet => "mainnet",
    }
}

fn text(seed: &[u8]) -> String {
    String::from_utf8_lossy(seed).into_owned()
}
