//! `GET /v1/agents/{agent_id}` and its history. The version of the rows is read before an answer is given again.

use std::{sync::Arc, time::Duration};

use axum::{Json, extract::State};
use chrono::{TimeDelta, Utc};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, KeptBody, Whole};
use crtx_store::{
    Json as StoredJson,
    pools::ReadConnection,
    reads::{self, AgentDay, AgentDetails, AgentMetrics, RecentExecution},
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::{
    kept_agents::{Agents, KeptAgent},
    listings,
    state::ApiState,
};

/// How long metrics are kept: while the agent works, and otherwise.
const AGE_OF_BUSY: Duration = Duration::from_secs(2);
const AGE: Duration = Duration::from_secs(60);
/// An agent whose listing changed within this time works.
const BUSY_FOR: TimeDelta = TimeDelta::minutes(2);
/// Executions in a history.
const RECENT: u32 = 10;

/// One agent, active or paused.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}", tag = "agents", operation_id = "get_agent",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The full listing", body = AgentDetails),
        (status = 404, description = "`agent_not_found`: there is no such agent, or it is not shown; the message says why", body = ErrorBody)
    )
)]
pub async fn get_agent(
    State(state): State<ApiState>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<KeptBody, ApiError> {
    answer(&state, &agent_id).await.map(KeptBody)
}

/// The body for an agent. One that was made from the same rows and the same metrics is given again.
async fn answer(state: &ApiState, agent_id: &str) -> Result<Arc<Whole>, ApiError> {
    let Agents { answers, versions, rows, .. } = &state.shared.agents;
    let address: Pubkey = agent_id.parse().map_err(|_| ApiError::agent_not_found(agent_id))?;
    let kept = answers.get(&address).await;
    let unchanged = match &kept {
        Some(kept) if versions.ask(address).await?.as_ref() == Some(&kept.agent.version) => Some(&kept.agent),
        _ => None,
    };
    let agent = match unchanged {
        Some(agent) => Some(Arc::clone(agent)),
        None => rows.ask(address).await?,
    };
    let Some(agent) = agent else {
        return Err(not_shown(state.shared.connections.point().await?, agent_id, &address).await?);
    };
    let metrics = metrics(state, &agent).await?;
    if let Some(kept) = kept.filter(|kept| Arc::ptr_eq(&kept.agent, &agent) && kept.metrics == metrics) {
        return Ok(Arc::clone(&kept.body));
    }
    let body = Arc::new(Whole::of_json(&AgentDetails {
        metrics: Some(StoredJson(metrics.clone())),
        on_chain_listing: state.links().account(&address),
        ..AgentDetails::clone(&agent)
    })?);
    answers.insert(address, Arc::new(KeptAgent { agent, metrics, body: Arc::clone(&body) })).await;
    Ok(body)
}

/// The metrics of an agent, at most as old as [`AGE`] says.
async fn metrics(state: &ApiState, agent: &AgentDetails) -> Result<AgentMetrics, ApiError> {
    let address = agent.address;
    let totals = [agent.total_executions, agent.successful_executions, agent.expired_executions, agent.dispute_count];
    let counting = async {
        let now = Utc::now();
        let mut connection = state.shared.connections.point().await?;
        let metrics = reads::agent_metrics(&mut connection, &address, now).await?;
        connection.done();
        let busy = now.signed_duration_since(agent.updated_at) < BUSY_FOR;
        Ok((metrics, if busy { AGE_OF_BUSY } else { AGE }))
    };
    let counted = state.shared.agents.metrics.get((address, totals), counting).await?;
    Ok(agent.add_to(counted))
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
        (status = 404, description = "`agent_not_found`: there is no such agent, or it is not shown; the message says why", body = ErrorBody)
    )
)]
pub async fn get_agent_history(
    State(state): State<ApiState>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<AgentHistoryResponse>, ApiError> {
    let address = agent_id.parse().map_err(|_| ApiError::agent_not_found(&agent_id))?;
    let mut connection = state.shared.connections.point().await?;
    if reads::agent_versions(&mut *connection, &[address]).await?.is_empty() {
        return Err(not_shown(connection, &agent_id, &address).await?);
    }
    let days = reads::agent_days(&mut *connection, &address, Utc::now()).await?;
    let link = &state.links().account_template;
    let recent_executions = reads::recent_executions(&mut *connection, &address, RECENT, link).await?;
    connection.done();
    Ok(Json(AgentHistoryResponse { window_days: reads::METRICS_DAYS.unsigned_abs(), days, recent_executions }))
}

/// The 404 of an agent that is not shown, which says why.
async fn not_shown(mut connection: ReadConnection, agent_id: &str, agent: &Pubkey) -> Result<ApiError, ApiError> {
    let reason = listings::not_shown(&mut connection, agent_id, agent).await?;
    connection.done();
    Ok(reason)
}
