//! `GET /v1/agents/{agent_id}/history`: what an agent did day by day, and its newest executions.

use axum::{Json, extract::State};
use chrono::Utc;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::{self, AgentDay, PublicExecution};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{agents, names::ExecutionStatusName, state::ApiState, types::Timestamp};

/// Executions that are shown.
const RECENT: u32 = 10;

/// One day (UTC). Days on which no execution ended are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentDayResponse {
    #[schema(format = Date, example = "2026-11-21")]
    day: String,
    completed_executions: u64,
    failed_executions: u64,
    disputed_executions: u64,
    /// Within 2.5 %. null if none was completed.
    #[schema(required)]
    p50_execution_time_ms: Option<u64>,
    /// Within 2.5 %. null if none was completed.
    #[schema(required)]
    p95_execution_time_ms: Option<u64>,
    /// Platform fees of the day's completed executions.
    #[schema(value_type = f64)]
    fees_usdc: UsdcBase,
}

/// An execution as the chain shows it to everybody.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecentExecution {
    /// Address of the on-chain record.
    record: String,
    #[schema(value_type = ExecutionStatusName)]
    status: &'static str,
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
    days: Vec<AgentDayResponse>,
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
    let address = agent.summary.address;
    let days = reads::agent_days(&mut *connection, &address, Utc::now()).await?;
    let recent = reads::recent_executions(&mut *connection, &address, RECENT).await?;
    connection.done();
    Ok(Json(AgentHistoryResponse {
        window_days: reads::METRICS_DAYS.unsigned_abs(),
        days: days.into_iter().map(day).collect(),
        recent_executions: recent.into_iter().map(|execution| execution_of(&state, execution)).collect(),
    }))
}

fn day(AgentDay { day, metrics }: AgentDay) -> AgentDayResponse {
    AgentDayResponse {
        day: day.to_string(),
        completed_executions: metrics.completed_30d,
        failed_executions: metrics.failed_30d,
        disputed_executions: metrics.disputed_30d,
        p50_execution_time_ms: metrics.p50_execution_time_ms,
        p95_execution_time_ms: metrics.p95_execution_time_ms,
        fees_usdc: metrics.fees_30d,
    }
}

fn execution_of(state: &ApiState, execution: PublicExecution) -> RecentExecution {
    RecentExecution {
        record: execution.record.to_string(),
        status: execution.status.as_str(),
        cost_usdc: execution.cost,
        initiated_at: Timestamp(execution.initiated_at),
        completed_at: execution.completed_at.map(Timestamp),
        execution_time_ms: execution.execution_time_ms,
        on_chain_record: state.links().account(&execution.record),
    }
}
