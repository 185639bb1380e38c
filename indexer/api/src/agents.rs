//! `GET /v1/agents/{agent_id}` and its history.
//!
//! The last answers are kept, each with the version of the rows that it shows. The database is asked for the version before
//! an answer is given again.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{Json, extract::State};
use chrono::{TimeDelta, Utc};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, KeptBody, Whole, gathered::Gathered};
use crtx_store::{
    Json as StoredJson, PgPool,
    pools::ReadConnection,
    reads::{self, AgentDay, AgentDetails, AgentMetrics, AgentVersion, RecentExecution},
};
use moka::future::Cache;
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::{kept::Kept, listings, state::ApiState};

/// Bytes of the answers that are kept; those that are asked for most.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// What an answer costs beyond its bytes.
const OVERHEAD: usize = 2_048;
/// Agents in one statement: a few reads by key for each.
const MOST_TOGETHER: usize = 64;
/// Agents whose metrics are kept.
const MAX_KEPT: u64 = 200_000;
/// How long metrics are kept: while the agent works, and otherwise.
const AGE_OF_BUSY: Duration = Duration::from_secs(2);
const AGE: Duration = Duration::from_secs(60);
/// An agent whose listing changed within this time works.
const BUSY_FOR: TimeDelta = TimeDelta::minutes(2);
/// Executions in a history.
const RECENT: u32 = 10;

/// What answers are made from.
pub struct Agents {
    answers: Cache<Pubkey, Arc<KeptAgent>>,
    versions: Gathered<Pubkey, Option<AgentVersion>>,
    rows: Gathered<Pubkey, Option<Arc<AgentDetails>>>,
    /// Counted from many rows. By the agent and the totals of its listing: metrics of other totals are old.
    metrics: Kept<(Pubkey, [u64; 4]), AgentMetrics>,
}

/// An answer, and what it was made from.
struct KeptAgent {
    agent: Arc<AgentDetails>,
    metrics: AgentMetrics,
    body: Arc<Whole>,
}

/// With room for the compressed form and for the document.
fn size(kept: &KeptAgent) -> u32 {
    let bytes = kept.body.bytes.len();
    let size = bytes.saturating_mul(2).saturating_add(bytes.div_ceil(2)).saturating_add(OVERHEAD);
    u32::try_from(size).unwrap_or(u32::MAX)
}

impl Agents {
    pub fn new(pool: &PgPool) -> Self {
        Self {
            answers: Cache::builder().max_capacity(MAX_BYTES).weigher(|_, kept: &Arc<KeptAgent>| size(kept)).build(),
            versions: Gathered::new(pool.clone(), MOST_TOGETHER, |connection, agents: &[Pubkey]| {
                Box::pin(async move {
                    let versions = reads::agent_versions(connection, agents).await?;
                    Ok(agents.iter().map(|agent| versions.get(agent).cloned()).collect())
                })
            }),
            rows: Gathered::new(pool.clone(), MOST_TOGETHER, |connection, agents: &[Pubkey]| {
                Box::pin(async move {
                    let rows = reads::agents(connection, agents).await?;
                    let mut rows: HashMap<_, _> = rows.into_iter().map(|row| (row.address, Arc::new(row))).collect();
                    Ok(agents.iter().map(|agent| rows.remove(agent)).collect())
                })
            }),
            metrics: Kept::new(MAX_KEPT),
        }
    }
}

/// One agent, active or paused.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}", tag = "agents", operation_id = "get_agent",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The full listing", body = AgentDetails),
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
    let address = agent_id.parse().map_err(|_| ApiError::agent_not_found(&agent_id))?;
    let mut connection = state.shared.connections.point().await?;
    if reads::agent_versions(&mut *connection, &[address]).await?.is_empty() {
        return Err(not_shown(connection, &agent_id, &address).await?);
    }
    let days = reads::agent_days(&mut *connection, &address, Utc::now()).await?;
    let link = state.links().account_template();
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
