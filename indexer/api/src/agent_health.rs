//! `GET /v1/agents/{agent_id}/health`: how an agent did in the last 24 hours and why its last calls failed, for its creator.

use std::sync::Arc;

use axum::{Extension, Json, extract::State};
use chrono::{DateTime, TimeDelta, Utc};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, Peer, Reader};
use crtx_store::{
    pools::ReadConnection,
    reads::{self, AgentFailure, AgentFigures},
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::{executions::failure, layers::ShownSlot, state::ApiState};

/// What the figures cover.
const WINDOW: TimeDelta = TimeDelta::days(1);
/// What the failures are from.
const FAILURES_OF: TimeDelta = TimeDelta::days(30);
const MOST_FAILURES: u32 = 20;

/// How an agent did lately, as far as the chain shows it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentHealthResponse {
    /// Address of the listing account.
    pub agent_id: String,
    /// Seconds that the figures cover, by the time at which executions were initiated.
    #[schema(value_type = u32)]
    pub window_seconds: i64,
    /// All executions of this time; those that run are in no other count.
    pub executions: u64,
    /// Results that were paid and not found wrong, also while they are disputed.
    pub completed: u64,
    /// Executions that were refunded for whatever reason, and upheld disputes.
    pub failed: u64,
    /// 0.0 to 1.0, as in the metrics of the listing: completed without an upheld dispute, of completed and failed by the
    /// agent. null before the first.
    #[schema(required)]
    pub success_rate: Option<f64>,
    /// Half of the completed executions that the gateway settled took at most this time.
    #[schema(required)]
    pub p50_ms: Option<u64>,
    /// 95 of 100 of them took at most this time.
    #[schema(required)]
    pub p95_ms: Option<u64>,
    /// The newest 20 that were refunded, of the last 30 days.
    pub failures: Vec<AgentFailure>,
}

/// How an agent of the wallet of the API key or session did in the last 24 hours, and why its last calls failed.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}/health", tag = "agents", operation_id = "get_agent_health",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "The figures and the last failures", body = AgentHealthResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 401, description = "`unauthorized`", body = ErrorBody),
        (status = 404, description = "`agent_not_found`: this wallet has no such agent", body = ErrorBody),
        (status = 503, description = "`unavailable`: too many expensive reads, or no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_agent_health(
    State(state): State<ApiState>,
    Reader { wallet, .. }: Reader,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
    peer: Option<Extension<Peer>>,
) -> Result<(Extension<ShownSlot>, Json<AgentHealthResponse>), ApiError> {
    let not_found = || ApiError::agent_not_found(&agent_id);
    let agent: Pubkey = agent_id.parse().map_err(|_| not_found())?;
    // A wallet that does not own the agent is refused before it uses a place of the expensive reads.
    let mut point = state.shared.connections.point().await?;
    let is_own = reads::lists_agent(&mut *point, &wallet, &agent).await?;
    point.done();
    if !is_own {
        return Err(not_found());
    }
    let peer = peer.map(|Extension(Peer(address))| address);
    let read = async |connection: &mut ReadConnection| {
        let now = Utc::now();
        let figures = reads::agent_figures(&mut **connection, &wallet, &agent, before(now, WINDOW)).await?;
        let failures =
            reads::agent_failures(&mut **connection, &wallet, &agent, before(now, FAILURES_OF), MOST_FAILURES).await?;
        Ok(Arc::new(answer(&agent, figures, failures)?))
    };
    let (slot, answer) = state.shared_list(&state.shared.health, (wallet, agent), peer, read).await?;
    Ok((slot, Json(AgentHealthResponse::clone(&answer))))
}

fn before(now: DateTime<Utc>, time: TimeDelta) -> DateTime<Utc> {
    now.checked_sub_signed(time).unwrap_or(DateTime::UNIX_EPOCH)
}

fn answer(agent: &Pubkey, figures: AgentFigures, failures: Vec<AgentFailure>) -> Result<AgentHealthResponse, ApiError> {
    let complete = |failed: AgentFailure| -> Result<Option<AgentFailure>, ApiError> {
        let error = failure(failed.error_code.as_deref(), failed.error_message.as_deref(), failed.failure_reason)?;
        Ok(error.map(|error| AgentFailure { code: error.code, message: error.message, ..failed }))
    };
    let AgentFigures { executions, completed, failed, success_rate, p50_ms, p95_ms } = figures;
    Ok(AgentHealthResponse {
        agent_id: agent.to_string(),
        window_seconds: WINDOW.num_seconds(),
        executions,
        completed,
        failed,
        success_rate,
        p50_ms,
        p95_ms,
        failures: failures.into_iter().filter_map(|failed| complete(failed).transpose()).collect::<Result<_, _>>()?,
    })
}
