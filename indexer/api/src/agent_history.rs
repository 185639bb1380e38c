//! `GET /v1/agents/{agent_id}/history`: what an agent did day by day, and its newest executions.

use axum::{Json, extract::State};
use chrono::Utc;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::{self, AgentDay, PublicExecution, ShownStatus};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{agents, state::ApiState, types::Timestamp};

/// Executions that are shown.
const RECENT: u32 = 10;

/// An execution as the chain shows it to everybody.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecentExecution {
    /// Address of the on-chain record.
    record: String,
    status: ShownStatus,
    #[schema(value_type = f64)]
    cost_usdc: UsdcBase,
    initiated_at: Timestamp,
    /// null while it runs.
    #[schema(required)]
    completed_at: Option<Timestamp>,
    /// null unless a result was settled.
    #[schema(required)]
    execution_time_ms: Option<u64>,
    /// The record on the chain explorer.
    on_chain_record: String,
}

/// The last 30 days of an agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentHistoryResponse {
    /// Days that are looked at, today among them.
    window_days: u32,
    /// Oldest first.
    days: Vec<AgentDay>,
    /// The newest ten.
    recent_executions: Vec<RecentExecution>,
}

/// The days and the newest executions of one agent, active or paused.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}/history", tag = "agents", operation_id = "get_agent_history",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The last 30 days", body = AgentHistoryResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 404, description = "`agent_not_found`: there is no such agent, or it is not shown; the message says why", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_agent_history(
    State(state): State<ApiState>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<AgentHistoryResponse>, ApiError> {
    let (agent, mut connection) = agents::shown(&state, &agent_id).await?;
    let address = agent.address;
    let days = reads::agent_days(&mut *connection, &address, Utc::now()).await?;
    let recent = reads::recent_executions(&mut *connection, &address, RECENT).await?;
    connection.done();
    Ok(Json(AgentHistoryResponse {
        window_days: reads::METRICS_DAYS.unsigned_abs(),
        days,
        recent_executions: recent.into_iter().map(|execution| execution_of(&state, execution)).collect(),
    }))
}

fn execution_of(state: &ApiState, execution: PublicExecution) -> RecentExecution {
    RecentExecution {
        record: execution.record.to_string(),
        status: execution.status,
        cost_usdc: execution.cost,
        initiated_at: execution.initiated_at,
        completed_at: execution.completed_at,
        execution_time_ms: execution.execution_time_ms.map(u64::from),
        on_chain_record: state.links().account(&execution.record),
    }
}
