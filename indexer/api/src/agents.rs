//! `GET /v1/agents/{agent_id}`.

use std::sync::Arc;

use axum::extract::State;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, KeptBody, Whole};
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use crtx_store::{
    Json,
    pools::ReadConnection,
    reads::{self, AgentDetails, CreatorDetails, ListingStatus, ListingStatusName},
};
use serde::Serialize;
use serde_json::value::RawValue;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::{
    agent_answers::{AgentAnswer, KeptAgent},
    agent_metrics::AgentMetricsResponse,
    listings,
    state::ApiState,
    types::Timestamp,
};

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
    #[schema(value_type = u32)]
    pub timeout_seconds: i64,
    pub total_executions: u64,
    /// `platform_fees_usdc` x `successful_executions` / max(`total_executions`, 1), rounded down to base units: the
    /// platform fees that were paid for results that stand. Every factor is in the listing account.
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    #[schema(value_type = CreatorDetails)]
    pub creator: Json<CreatorDetails>,
    #[schema(value_type = ListingStatusName)]
    pub status: ListingStatus,
    pub description: String,
    /// JSON Schema of accepted `parameters`.
    #[schema(value_type = Object)]
    pub input_schema: Box<RawValue>,
    /// JSON Schema of the result structure.
    #[schema(value_type = Object)]
    pub output_schema: Box<RawValue>,
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
    pub metrics: AgentMetricsResponse,
    /// The listing account on the chain explorer.
    pub on_chain_listing: String,
    pub created_at: Timestamp,
}

/// One agent, active or paused.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}", tag = "agents", operation_id = "get_agent",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The full listing", body = AgentResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 404, description = "`agent_not_found`: there is no such agent, or it is not shown; the message says why", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_agent(
    State(state): State<ApiState>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<KeptBody, ApiError> {
    answer(&state, &agent_id).await.map(KeptBody)
}

/// The body for an agent. One that was made from the same rows and the same figures is given again.
async fn answer(state: &ApiState, agent_id: &str) -> Result<Arc<Whole>, ApiError> {
    let address: Pubkey = agent_id.parse().map_err(|_| ApiError::agent_not_found(agent_id))?;
    let kept = state.shared.agent_answers.get(&address).await;
    let version = kept.as_ref().map(|kept| kept.agent.version.clone());
    let agent = match (state.shared.agent_reads.ask((address, version)).await?, &kept) {
        (AgentAnswer::Changed(agent), _) => agent,
        (AgentAnswer::Unchanged, Some(kept)) => Arc::clone(&kept.agent),
        (AgentAnswer::NotShown | AgentAnswer::Unchanged, _) => {
            return Err(not_shown(state.shared.connections.point().await?, agent_id, &address).await?);
        }
    };
    let metrics = state.shared.agent_metrics.of(&agent).await?;
    if let Some(kept) = kept.filter(|kept| Arc::ptr_eq(&kept.agent, &agent) && kept.metrics == metrics) {
        return Ok(Arc::clone(&kept.body));
    }
    let body = Arc::new(Whole::of_json(&full(state, &agent, metrics.clone()))?);
    let kept = KeptAgent { agent, metrics, body: Arc::clone(&body) };
    state.shared.agent_answers.insert(address, Arc::new(kept)).await;
    Ok(body)
}

/// An agent that is shown, and the connection that read it. 404 says why another one is not.
pub async fn shown(state: &ApiState, agent_id: &str) -> Result<(AgentDetails, ReadConnection), ApiError> {
    let address: Pubkey = agent_id.parse().map_err(|_| ApiError::agent_not_found(agent_id))?;
    let mut connection = state.shared.connections.point().await?;
    match reads::agent(&mut *connection, &address).await? {
        Some(agent) => Ok((agent, connection)),
        None => Err(not_shown(connection, agent_id, &address).await?),
    }
}

async fn not_shown(mut connection: ReadConnection, agent_id: &str, agent: &Pubkey) -> Result<ApiError, ApiError> {
    let reason = listings::not_shown(&mut connection, agent_id, agent).await?;
    connection.done();
    Ok(reason)
}

fn full(state: &ApiState, agent: &AgentDetails, metrics: AgentMetricsResponse) -> AgentResponse {
    AgentResponse {
        agent_id: agent.address.to_string(),
        name: agent.name.clone(),
        tagline: agent.tagline.clone(),
        tags: agent.tags.clone(),
        binding: agent.binding,
        price_per_call_usdc: agent.price,
        terms_hash: ResultHash(agent.terms_hash).to_string(),
        timeout_seconds: agent.timeout_seconds,
        total_executions: agent.total_executions,
        trust_usdc: agent.trust,
        success_rate: agent.success_rate,
        avg_execution_time_ms: agent.avg_execution_time_ms,
        creator: agent.creator.clone(),
        status: agent.status,
        description: agent.document.description.clone(),
        input_schema: agent.document.input_schema.clone(),
        output_schema: agent.document.output_schema.clone(),
        successful_executions: agent.successful_executions,
        failed_executions: agent.failed_executions,
        expired_executions: agent.expired_executions,
        dispute_count: agent.dispute_count,
        platform_fees_usdc: agent.platform_fees,
        unique_callers: agent.unique_callers,
        metrics,
        on_chain_listing: state.links().account(&agent.address),
        created_at: agent.created_at,
    }
}
