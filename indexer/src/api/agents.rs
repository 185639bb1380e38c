//! `GET /v1/agents` and `GET /v1/agents/{agent_id}`.

use std::sync::Arc;

use agent_marketplace::state::ClosedAgents;
use axum::{Extension, Json, extract::State};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, FromQuery, Peer, QueryParams};
use crtx_protocol::{metadata::is_tag, result_hash::ResultHash, usdc::UsdcBase};
use crtx_store::reads::{self, AgentFilter, AgentSort, ListingStatus, Page};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{
    lanes::{Client, Query, magnitude},
    state::IndexerApiState,
    types::{self, Timestamp},
};

/// Limit of the filter. No listing has more tags.
const MAX_TAGS_IN_FILTER: usize = 20;

/// An agent in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentSummary {
    /// Address of the listing account.
    pub agent_id: String,
    pub name: String,
    /// One sentence.
    pub tagline: String,
    /// Capability tags.
    pub tags: Vec<String>,
    /// Whether each result is signed for its call, so that no signature settles another call.
    pub binding: bool,
    /// Price of one execution.
    #[schema(value_type = f64)]
    pub price_per_call_usdc: UsdcBase,
    /// Finished executions: completed and failed. Expired ones are not counted.
    pub total_executions: u64,
    /// `platform_fees_usdc` x `successful_executions` / max(`total_executions`, 1), rounded down to base units: the
    /// platform fees that were paid for results that stand. Every factor is in the listing account.
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    /// 0.0 to 1.0: successful of total; 0 before the first.
    pub success_rate: f64,
    /// Mean over completed executions; 0 before the first.
    pub avg_execution_time_ms: u64,
    pub creator: CreatorSummary,
    /// `active` or `paused`.
    pub status: &'static str,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreatorSummary {
    pub pubkey: String,
    /// Whether the marketplace has checked the creator's identity.
    pub verified: bool,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentListResponse {
    pub agents: Vec<AgentSummary>,
    /// Agents that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    pub offset: u64,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreatorDetails {
    pub pubkey: String,
    pub verified: bool,
    /// Empty if the creator has set none.
    pub display_name: String,
    /// What the creator's closed agents counted: who closes an agent keeps its history.
    pub closed_agents: ClosedAgentsTotals,
}

/// Totals of agents whose listings are closed. The chain keeps them in the creator's profile.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClosedAgentsTotals {
    /// Closed agents.
    pub agents: u64,
    pub completed_executions: u64,
    pub successful_executions: u64,
    pub failed_executions: u64,
    pub expired_executions: u64,
    pub dispute_count: u64,
    /// Taken from their collateral.
    #[schema(value_type = f64)]
    pub slashed_usdc: UsdcBase,
    #[schema(value_type = f64)]
    pub platform_fees_usdc: UsdcBase,
}

impl From<ClosedAgents> for ClosedAgentsTotals {
    fn from(closed: ClosedAgents) -> Self {
        Self {
            agents: closed.agents,
            completed_executions: closed.completed_executions,
            successful_executions: closed.successful_executions,
            failed_executions: closed.failed_executions,
            expired_executions: closed.expired_executions,
            dispute_count: closed.disputed_executions,
            slashed_usdc: UsdcBase(closed.slashed_total),
            platform_fees_usdc: UsdcBase(closed.platform_fees_total),
        }
    }
}

/// A full listing.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentResponse {
    pub agent_id: String,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    /// Whether each result is signed for its call, so that no signature settles another call.
    pub binding: bool,
    #[schema(value_type = f64)]
    pub price_per_call_usdc: UsdcBase,
    /// SHA-256 of price, time-out, binding, result key and metadata hash: an opening can name it, and is refused if
    /// the terms have changed.
    pub terms_hash: String,
    /// Seconds that the creator's service has to answer.
    pub timeout_seconds: u32,
    pub total_executions: u64,
    /// `platform_fees_usdc` x `successful_executions` / max(`total_executions`, 1), rounded down to base units: the
    /// platform fees that were paid for results that stand. Every factor is in the listing account.
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub creator: CreatorDetails,
    pub status: &'static str,
    pub description: String,
    /// JSON Schema of accepted `parameters`.
    #[schema(value_type = Object)]
    pub input_schema: Value,
    /// JSON Schema of the result structure.
    #[schema(value_type = Object)]
    pub output_schema: Value,
    /// Completed executions without an upheld dispute.
    pub successful_executions: u64,
    /// Executions that creator or gateway reported as failed by the agent.
    pub failed_executions: u64,
    /// Refunded executions that are no failure of the agent: expired, or given up by the gateway.
    pub expired_executions: u64,
    /// Disputes ever raised.
    pub dispute_count: u64,
    /// What the platform received of completed executions.
    #[schema(value_type = f64)]
    pub platform_fees_usdc: UsdcBase,
    /// Wallets that paid a completed execution, as far as this index has seen them.
    pub unique_callers: u64,
    /// The listing account on the chain explorer.
    pub on_chain_listing: String,
    pub created_at: Timestamp,
}

impl From<reads::ListedAgent> for AgentSummary {
    fn from(agent: reads::ListedAgent) -> Self {
        Self {
            agent_id: agent.address.to_string(),
            name: agent.name,
            tagline: agent.tagline,
            tags: agent.tags,
            binding: agent.binding,
            price_per_call_usdc: agent.price,
            total_executions: agent.total_executions,
            trust_usdc: agent.trust,
            success_rate: agent.success_rate,
            avg_execution_time_ms: agent.avg_execution_time_ms,
            creator: CreatorSummary { pubkey: agent.creator.to_string(), verified: agent.creator_verified },
            status: status_text(agent.status),
        }
    }
}

/// Whose queue a list without an API key waits in.
fn client_of(peer: Option<Extension<Peer>>) -> Client {
    peer.map_or(Client::Local, |Extension(Peer(address))| Client::Peer(address))
}

const fn status_text(status: ListingStatus) -> &'static str {
    match status {
        ListingStatus::Active => "active",
        ListingStatus::Paused => "paused",
    }
}

/// Which agents to list.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentListQuery {
    /// Agents per page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: u32,
    /// Agents to skip.
    #[param(value_type = Option<u64>, minimum = 0, default = 0)]
    offset: u64,
    /// Comma-separated tags: agents that have all of them.
    #[param(value_type = Option<String>, example = "data,finance")]
    tags: Vec<String>,
    #[param(value_type = Option<f64>, minimum = 0.0, maximum = 1.0)]
    min_success_rate: f64,
    /// Minimum total executions.
    #[param(value_type = Option<u64>, minimum = 0)]
    min_executions: u64,
    /// Only agents of verified creators.
    #[param(value_type = Option<bool>, default = false)]
    verified_only: bool,
    /// `total_executions`, `success_rate`, `price_asc`, `price_desc`, `created_at` (newest first) or `trust` (highest
    /// `trust_usdc` first).
    #[param(value_type = Option<String>, default = "total_executions")]
    sort: AgentSort,
}

impl FromQuery for AgentListQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let Page { limit, offset } = types::page(params)?;
        Ok(Self {
            limit,
            offset,
            tags: tags(params)?,
            min_success_rate: min_success_rate(params)?,
            min_executions: params.integer("min_executions", 0, i64::MAX.unsigned_abs())?.unwrap_or(0),
            verified_only: params.boolean("verified_only")?.unwrap_or(false),
            sort: sort(params)?,
        })
    }
}

fn tags(params: &mut QueryParams) -> Result<Vec<String>, ApiError> {
    let Some(text) = params.text("tags")? else { return Ok(Vec::new()) };
    let tags: Vec<String> = text.split(',').map(|tag| tag.trim().to_owned()).collect();
    if tags.len() > MAX_TAGS_IN_FILTER || !tags.iter().all(|tag| is_tag(tag)) {
        return Err(ApiError::invalid(
            "tags",
            "must be tags separated by commas, each of lower-case letters, digits, `-` and `_`",
        ));
    }
    Ok(tags)
}

fn min_success_rate(params: &mut QueryParams) -> Result<f64, ApiError> {
    const EXPECTED: &str = "a number from 0 to 1";
    let rate = params.value::<f64>("min_success_rate", EXPECTED)?.unwrap_or(0.0);
    if (0.0..=1.0).contains(&rate) {
        Ok(rate)
    } else {
        Err(ApiError::invalid("min_success_rate", format!("must be {EXPECTED}")))
    }
}

fn sort(params: &mut QueryParams) -> Result<AgentSort, ApiError> {
    match params.text("sort")?.as_deref() {
        None | Some("total_executions") => Ok(AgentSort::TotalExecutions),
        Some("success_rate") => Ok(AgentSort::SuccessRate),
        Some("price_asc") => Ok(AgentSort::PriceAscending),
        Some("price_desc") => Ok(AgentSort::PriceDescending),
        Some("created_at") => Ok(AgentSort::CreatedAt),
        Some("trust") => Ok(AgentSort::Trust),
        Some(_) => Err(ApiError::invalid(
            "sort",
            "must be `total_executions`, `success_rate`, `price_asc`, `price_desc`, `created_at` or `trust`",
        )),
    }
}

/// Active agents, page by page.
#[utoipa::path(
    get, path = "/v1/agents", tag = "agents", operation_id = "list_agents", params(AgentListQuery),
    responses(
        (status = 200, description = "One page of agents", body = AgentListResponse),
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed", body = ErrorBody),
        (status = 503, description = "`unavailable`: too many expensive reads, or no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn list_agents(
    State(state): State<IndexerApiState>,
    peer: Option<Extension<Peer>>,
    ApiQuery(query): ApiQuery<AgentListQuery>,
) -> Result<Json<AgentListResponse>, ApiError> {
    let AgentListQuery { limit, offset, tags, min_success_rate, min_executions, verified_only, sort } = query;
    let filter = AgentFilter { tags, min_success_rate, min_executions, verified_only };
    let client = client_of(peer);
    let shape = format!(
        "agents {} {} {} {}",
        filter.tags.len(),
        filter.min_success_rate > 0.0,
        filter.min_executions > 0,
        filter.verified_only
    );
    let total = count(&state, client, &shape, &filter).await?;
    let agents = if offset < total {
        page(&state, client, &shape, &filter, sort, Page { limit, offset }).await?
    } else {
        Arc::default()
    };
    let agents = agents.iter().cloned().map(AgentSummary::from).collect();
    Ok(Json(AgentListResponse { agents, total, limit, offset }))
}

async fn count(state: &IndexerApiState, client: Client, shape: &str, filter: &AgentFilter) -> Result<u64, ApiError> {
    let (shape, filter, counting) = (format!("count of {shape}"), filter.clone(), state.clone());
    state
        .totals()
        .of(format!("{filter:?}"), async move {
            let query: Query<u64> = Box::new(move |mut connection| {
                let filter = filter.clone();
                Box::pin(async move {
                    let total = reads::count_agents(&mut *connection, &filter).await?;
                    connection.done();
                    Ok(total)
                })
            });
            counting.lanes().list(client, &shape, &query).await
        })
        .await
}

async fn page(
    state: &IndexerApiState,
    client: Client,
    shape: &str,
    filter: &AgentFilter,
    sort: AgentSort,
    page: Page,
) -> Result<Arc<Vec<reads::ListedAgent>>, ApiError> {
    let shape = format!("page of {shape} {sort:?} {}", magnitude(page.offset));
    let key = format!("{client:?} {filter:?} {sort:?} {page:?}");
    let (filter, listing) = (filter.clone(), state.clone());
    state
        .agent_pages()
        .join(&key, async move {
            let query: Query<Vec<reads::ListedAgent>> = Box::new(move |mut connection| {
                let filter = filter.clone();
                Box::pin(async move {
                    let agents = reads::list_agents(&mut *connection, &filter, sort, page).await?;
                    connection.done();
                    Ok(agents)
                })
            });
            Ok(Arc::new(listing.lanes().list(client, &shape, &query).await?.0))
        })
        .await
}

/// One agent, active or paused.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}", tag = "agents", operation_id = "get_agent",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The full listing", body = AgentResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 404, description = "`agent_not_found`: there is no such agent, or it was removed", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_agent(
    State(state): State<IndexerApiState>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<AgentResponse>, ApiError> {
    let not_found = || ApiError::agent_not_found(&agent_id);
    let address = types::address(&agent_id).ok_or_else(not_found)?;
    let mut connection = state.lanes().point().await?;
    let agent = reads::agent(&mut *connection, &address).await?;
    connection.done();
    let agent = agent.ok_or_else(not_found)?;
    Ok(Json(full(&state, agent)))
}

fn full(state: &IndexerApiState, agent: reads::AgentDetails) -> AgentResponse {
    let mut document = agent.document;
    let mut member = |name: &str| document.get_mut(name).map(Value::take).unwrap_or_default();
    let summary = agent.summary;
    AgentResponse {
        agent_id: summary.address.to_string(),
        name: summary.name,
        tagline: summary.tagline,
        tags: summary.tags,
        binding: summary.binding,
        price_per_call_usdc: summary.price,
        terms_hash: ResultHash(agent.terms_hash).to_string(),
        timeout_seconds: agent.timeout_seconds,
        total_executions: summary.total_executions,
        trust_usdc: summary.trust,
        success_rate: summary.success_rate,
        avg_execution_time_ms: summary.avg_execution_time_ms,
        creator: CreatorDetails {
            pubkey: summary.creator.to_string(),
            verified: summary.creator_verified,
            display_name: agent.creator_display_name.unwrap_or_default(),
            closed_agents: agent.closed.into(),
        },
        status: status_text(summary.status),
        description: member("description").as_str().unwrap_or_default().to_owned(),
        input_schema: member("input_schema"),
        output_schema: member("output_schema"),
        successful_executions: agent.successful_executions,
        failed_executions: agent.failed_executions,
        expired_executions: agent.expired_executions,
        dispute_count: agent.dispute_count,
        platform_fees_usdc: agent.platform_fees,
        unique_callers: agent.unique_callers,
        on_chain_listing: state.links().account(&summary.address),
        created_at: Timestamp(agent.created_at),
    }
}
