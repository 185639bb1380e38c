//! `GET /v1/agents/{agent_id}/health`: how an agent did in the last 24 hours and why its last calls failed, for its creator.

use axum::{Extension, Json, extract::State};
use chrono::{DateTime, TimeDelta, Utc};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, Peer, Reader};
use crtx_store::{
    Json as StoredJson,
    reads::{self, AgentFailure, AgentHealthResponse},
};
use solana_pubkey::Pubkey;

use crate::{executions::failure, state::ApiState};

/// What the figures cover.
const WINDOW: TimeDelta = TimeDelta::days(1);
/// What the failures are from.
const FAILURES_OF: TimeDelta = TimeDelta::days(30);
const MOST_FAILURES: u32 = 20;

/// How an agent of the wallet of the API key or session did in the last 24 hours, and why its last calls failed.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}/health", tag = "agents", operation_id = "get_agent_health",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "The figures and the last failures", body = AgentHealthResponse),
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
) -> Result<Json<AgentHealthResponse>, ApiError> {
    let not_found = || ApiError::agent_not_found(&agent_id);
    let agent: Pubkey = agent_id.parse().map_err(|_| not_found())?;
    // A wallet that does not own the agent is refused before it uses a place of the expensive reads.
    let mut point = state.shared.connections.point().await?;
    let is_own = reads::lists_agent(&mut *point, &wallet, &agent).await?;
    point.done();
    if !is_own {
        return Err(not_found());
    }
    let mut connection = state.shared.connections.list(peer.map(|Extension(Peer(address))| address)).await?;
    let now = Utc::now();
    let health = reads::agent_health(&mut *connection, &wallet, &agent, before(now, WINDOW)).await?;
    let failures =
        reads::agent_failures(&mut *connection, &wallet, &agent, before(now, FAILURES_OF), MOST_FAILURES).await?;
    connection.done();
    let failures = failures.into_iter().filter_map(|failed| complete(failed).transpose());
    let failures = StoredJson(failures.collect::<Result<_, ApiError>>()?);
    Ok(Json(AgentHealthResponse { window_seconds: WINDOW.num_seconds(), failures, ..health }))
}

fn before(now: DateTime<Utc>, time: TimeDelta) -> DateTime<Utc> {
    now.checked_sub_signed(time).unwrap_or(DateTime::UNIX_EPOCH)
}

/// With its code and message. `None`: the gateway kept no answer, and the mirror does not show why it was refunded.
fn complete(failed: AgentFailure) -> Result<Option<AgentFailure>, ApiError> {
    let error = failure(failed.error_code.as_deref(), failed.error_message.as_deref(), failed.failure_reason)?;
    Ok(error.map(|error| AgentFailure { code: error.code, message: error.message, ..failed }))
}
