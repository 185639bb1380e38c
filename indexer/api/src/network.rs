//! `GET /v1/network`: the facts of a deployment, from its settings, the mirror, and the constants of the program.

use agent_marketplace::state::{
    Config, DEFAULT_TIMEOUT_S, Dispute, MAX_ALLOWED_AGENTS, MAX_DISPLAY_NAME_BYTES, MAX_EVIDENCE_URI_BYTES,
    MAX_METADATA_URI_BYTES, MAX_PRICE, MAX_TIMEOUT_S, MIN_TIMEOUT_S,
};
use axum::{Json, extract::State};
use chrono::TimeDelta;
use crtx_chain::{
    instructions::event_authority_address,
    token::{ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID, USDC_DECIMALS},
};
use crtx_http::{ApiError, ApiQuery, ErrorBody};
use crtx_protocol::{cluster::Cluster, creator_answer, metadata, seeds, usdc::UsdcBase};
use crtx_store::{
    mirror,
    pools::ReadConnection,
    reads::{self, Configuration},
};

use crate::{
    kept::age_of,
    network_response::{
        AnnouncedParameters, AnnouncedRoles, ExplorerLinks, NetworkAddresses, NetworkLimits, NetworkResponse,
        NetworkSeeds,
    },
    state::{ApiState, Deployment},
    types::Timestamp,
};

/// What clients need to build transactions: network, addresses, roles, parameters, limits, links. It may be some seconds
/// old.
#[utoipa::path(
    get, path = "/v1/network", tag = "service", operation_id = "network",
    responses(
        (status = 200, description = "The deployment", body = NetworkResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 503, description = "`unavailable`: the mirror has no configuration yet; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn network(
    State(state): State<ApiState>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<NetworkResponse>, ApiError> {
    let reading = async {
        let read = async |connection: &mut ReadConnection| {
            Ok((reads::configuration(&mut **connection).await?, mirror::checkpoint(&mut **connection).await?))
        };
        let ((configuration, checkpoint), took) = state.shared.connections.kept_list(read).await?;
        let configuration =
            configuration.ok_or_else(|| ApiError::unavailable("the mirror has no configuration of the program yet"))?;
        let genesis_hash = checkpoint.and_then(|checkpoint| checkpoint.genesis_hash);
        Ok((response(&state.shared.deployment, &configuration, genesis_hash), age_of(took)))
    };
    Ok(Json(state.shared.network_facts.get((), reading).await?))
}

fn response(deployment: &Deployment, configuration: &Configuration, genesis_hash: Option<String>) -> NetworkResponse {
    let Deployment { cluster, addresses, links, public_rpc_url, outbound_addresses, .. } = deployment;
    let program = addresses.program_id();
    NetworkResponse {
        network: network_name(*cluster),
        chain: cluster.chain_id(),
        key_prefix: cluster.key_network().prefix(),
        genesis_hash,
        program_id: program.to_string(),
        usdc_mint: configuration.usdc_mint.clone(),
        usdc_decimals: USDC_DECIMALS,
        addresses: NetworkAddresses {
            config: addresses.config().to_string(),
            event_authority: event_authority_address(&program).to_string(),
            token_program: TOKEN_PROGRAM_ID.to_string(),
            associated_token_program: ASSOCIATED_TOKEN_PROGRAM_ID.to_string(),
        },
        seeds: network_seeds(),
        roles: configuration.roles.clone(),
        announced_roles: announced_roles(configuration),
        parameters: configuration.parameters.clone(),
        announced_parameters: announced_parameters(configuration),
        paused: configuration.paused,
        tags: metadata::STANDARD_TAGS.to_vec(),
        limits: limits(),
        outbound_addresses: outbound_addresses.clone(),
        explorer: ExplorerLinks {
            account: links.account_template().to_owned(),
            transaction: links.transaction_template(),
        },
        rpc_url: public_rpc_url.clone(),
        base_url: links.site().url().to_owned(),
        ipfs_url_base: links.ipfs_url_base().to_owned(),
    }
}

const fn network_name(cluster: Cluster) -> &'static str {
    match cluster {
        Cluster::Localnet => "local",
        Cluster::Devnet => "devnet",
        Cluster::Mainnet => "mainnet",
    }
}

fn network_seeds() -> NetworkSeeds {
    let text = |seed: &[u8]| String::from_utf8_lossy(seed).into_owned();
    NetworkSeeds {
        creator: text(seeds::CREATOR),
        agent: text(seeds::AGENT),
        escrow: text(seeds::ESCROW),
        collateral: text(seeds::COLLATERAL),
        execution: text(seeds::EXECUTION),
        dispute: text(seeds::DISPUTE),
        grant: text(seeds::GRANT),
        spender: text(seeds::SPENDER),
    }
}

fn announced_roles(configuration: &Configuration) -> Option<AnnouncedRoles> {
    let apply_from = configuration.roles_apply_from?;
    Some(AnnouncedRoles {
        resolver: configuration.announced_resolver.clone(),
        treasury_owner: configuration.announced_treasury_owner.clone(),
        insurance_owner: configuration.announced_insurance_owner.clone(),
        apply_from,
        lapses_at: lapses_at(apply_from),
    })
}

fn lapses_at(Timestamp(apply_from): Timestamp) -> Timestamp {
    let life = TimeDelta::seconds(Config::ANNOUNCEMENT_LIFE_S);
    Timestamp(apply_from.checked_add_signed(life).unwrap_or(apply_from))
}

fn announced_parameters(configuration: &Configuration) -> Option<AnnouncedParameters> {
    let parameters = configuration.announced_parameters.clone()?;
    let apply_from = configuration.parameters_apply_from?;
    Some(AnnouncedParameters { parameters, apply_from, lapses_at: lapses_at(apply_from) })
}

fn limits() -> NetworkLimits {
    NetworkLimits {
        max_price_usdc: UsdcBase(MAX_PRICE),
        min_timeout_seconds: MIN_TIMEOUT_S,
        max_timeout_seconds: MAX_TIMEOUT_S,
        default_timeout_seconds: DEFAULT_TIMEOUT_S,
        max_grant_agents: MAX_ALLOWED_AGENTS,
        max_display_name_bytes: MAX_DISPLAY_NAME_BYTES,
        max_metadata_uri_bytes: MAX_METADATA_URI_BYTES,
        max_evidence_uri_bytes: MAX_EVIDENCE_URI_BYTES,
        max_metadata_bytes: metadata::MAX_BYTES,
        max_name_chars: metadata::MAX_NAME_CHARS,
        max_tagline_chars: metadata::MAX_TAGLINE_CHARS,
        max_description_chars: metadata::MAX_DESCRIPTION_CHARS,
        max_endpoint_chars: metadata::MAX_ENDPOINT_CHARS,
        max_tags: metadata::MAX_TAGS,
        max_tag_chars: metadata::MAX_TAG_CHARS,
        max_schema_bytes: crtx_schema::limits::MAX_BYTES,
        max_schema_depth: crtx_schema::limits::MAX_DEPTH,
        max_result_bytes: creator_answer::MAX_RESULT_BYTES,
        max_answer_bytes: creator_answer::MAX_ANSWER_BYTES,
        max_steps_bytes: creator_answer::MAX_STEPS_BYTES,
        max_tokens_used: creator_answer::MAX_TOKENS_USED,
        dispute_answer_seconds: Dispute::ANSWER_PERIOD_S,
        dispute_limit_seconds: Dispute::LIMIT_S,
        role_delay_seconds: Config::ROLE_DELAY_S,
        parameter_delay_seconds: Config::PARAMETERS_DELAY_S,
    }
}
