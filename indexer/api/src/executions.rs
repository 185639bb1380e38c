//! `GET /v1/executions` and `GET /v1/executions/{execution_id}`: the executions of the wallet of an API key or a session. An execution
//! of another wallet is not found.

use agent_marketplace::state::FailureReason;
use axum::{Extension, Json, extract::State};
use chrono::{DateTime, Utc};
use crtx_http::{
    ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode, FromQuery, QueryParams, Reader, gathered::Gathered,
};
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use crtx_store::{
    Json as StoredJson,
    executions::REFUNDED,
    reads::{
        self, ExecutionDispute, ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace,
        ExecutionQuestion, ExecutionRole, SettledBy, ShownStatus, Start,
    },
};
use serde::Serialize;
use serde_json::Value;
use solana_pubkey::Pubkey;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    agent_names::Named,
    layers::ShownSlot,
    paging::{MAX_OFFSET, Paging, next_cursor},
    state::ApiState,
    types::{self, Timestamp},
};

/// A list that skips more rows than this is slow.
const LARGE_OFFSET: u64 = 1_000;

/// An execution in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExecutionSummary {
    pub execution_id: Uuid,
    pub agent_id: String,
    pub agent_name: String,
    pub status: ShownStatus,
    /// Total charged; 0 after a refund.
    #[schema(value_type = f64)]
    pub cost_usdc: UsdcBase,
    pub initiated_at: Timestamp,
    /// null while pending or running.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// The `ExecutionRecord` on the chain explorer.
    pub on_chain_record: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExecutionListResponse {
    pub executions: Vec<ExecutionSummary>,
    /// Executions that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    /// 0 with a cursor.
    pub offset: u64,
    /// The `cursor` of the next page. null at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// A full execution. A value that does not exist (yet) is null; `tokens_used`, `steps`, `error` and `dispute` are left
/// out instead.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExecutionResponse {
    pub execution_id: Uuid,
    pub agent_id: String,
    pub agent_name: String,
    pub status: ShownStatus,
    /// The agent's output. null until it is paid for, and while nobody has stored it here: a result that was settled
    /// without this service appears as soon as its content is put to `ipfs_url`.
    #[schema(required)]
    pub result: Option<String>,
    /// `sha256:` and the hex SHA-256 of the result; committed on chain.
    #[schema(required)]
    pub result_hash: Option<String>,
    #[schema(value_type = f64)]
    pub cost_usdc: UsdcBase,
    /// Part paid to the creator.
    #[schema(value_type = f64)]
    pub creator_amount_usdc: UsdcBase,
    /// Part kept by the marketplace.
    #[schema(value_type = f64)]
    pub platform_amount_usdc: UsdcBase,
    /// Only if reported by the creator's service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// From dispatch to delivery.
    #[schema(required)]
    pub execution_time_ms: Option<u64>,
    /// `caller`, `creator` or `gateway`: who submitted the settlement. null unless it is on chain.
    #[schema(required, value_type = Option<String>)]
    pub settled_by: Option<SettledBy>,
    /// Whether the result is signed for this execution. null before the record is on chain.
    #[schema(required)]
    pub binding: Option<bool>,
    pub initiated_at: Timestamp,
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    pub on_chain_record: String,
    /// URL of the full result.
    #[schema(required)]
    pub ipfs_url: Option<String>,
    /// The creator's reasoning trace, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Value>>)]
    pub steps: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ExecutionFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExecutionDispute>)]
    pub dispute: Option<StoredJson<ExecutionDispute>>,
}

/// Why an execution failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ExecutionFailure {
    pub code: String,
    pub message: String,
}

impl ExecutionSummary {
    fn new(state: &ApiState, execution: &reads::ListedExecution, agent_name: String) -> Self {
        Self {
            execution_id: execution.execution_id,
            agent_id: execution.agent.to_string(),
            agent_name,
            status: execution.status,
            cost_usdc: execution.cost,
            initiated_at: execution.initiated_at,
            completed_at: execution.completed_at,
            on_chain_record: state.links().account(&execution.record),
        }
    }
}

impl ExecutionResponse {
    fn new(state: &ApiState, execution: reads::ExecutionDetails) -> Result<Self, ApiError> {
        let hash = execution.result_hash.map(ResultHash);
        Ok(Self {
            error: ExecutionFailure::of(&execution)?,
            dispute: execution.dispute,
            execution_id: execution.execution_id,
            agent_id: execution.agent,
            agent_name: execution.agent_name,
            status: execution.status,
            result: execution.result,
            result_hash: hash.map(|hash| hash.to_string()),
            cost_usdc: execution.cost,
            creator_amount_usdc: execution.creator_amount,
            platform_amount_usdc: execution.platform_amount,
            tokens_used: execution.tokens_used.map(u64::from),
            execution_time_ms: execution.execution_time_ms.map(u64::from),
            settled_by: execution.settled_by,
            binding: execution.binding,
            initiated_at: execution.initiated_at,
            completed_at: execution.completed_at,
            on_chain_record: state.links().account(&execution.record),
            ipfs_url: hash.map(|hash| state.links().content(&hash)),
            steps: execution.steps,
        })
    }
}

/// What an execution failed of that no gateway of this deployment has an answer for.
const ON_CHAIN: [(FailureReason, &str, &str); 5] = [
    (FailureReason::CreatorFailed, "execution_failed", "the creator's service reported a failure; escrow refunded"),
    (FailureReason::Timeout, "execution_timeout", "no answer within the listing's time-out; escrow refunded"),
    (FailureReason::InvalidResponse, "execution_failed", "the creator's answer broke the contract; escrow refunded"),
    (FailureReason::Expired, "execution_timeout", "no result before the deadline; escrow refunded"),
    (
        FailureReason::Interrupted,
        "interrupted",
        "the gateway was interrupted and gave the execution up; escrow refunded",
    ),
];

impl ExecutionFailure {
    fn of(execution: &reads::ExecutionDetails) -> Result<Option<Self>, ApiError> {
        if execution.status != ShownStatus::Failed {
            return Ok(None);
        }
        let answered = execution.error_code.clone().zip(execution.error_message.clone());
        Ok(match (answered, execution.failure_reason) {
            (Some((code, problem)), Some(_)) => Some(Self { code, message: format!("{problem}; {REFUNDED}") }),
            // Without a reason no escrow was opened.
            (Some((code, message)), None) => Some(Self { code, message }),
            (None, Some(number)) => {
                let found = ON_CHAIN.into_iter().find(|(reason, ..)| i16::from(*reason as u8) == number);
                let (_, code, message) =
                    found.ok_or_else(|| ApiError::internal(format!("no failure reason has the number {number}")))?;
                Some(Self { code: code.to_owned(), message: message.to_owned() })
            }
            (None, None) => None,
        })
    }
}

/// Which executions to list.
#[derive(Clone, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExecutionListQuery {
    /// Executions per page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: u32,
    /// Executions to skip. Further pages are read with `cursor`.
    #[param(value_type = Option<u64>, minimum = 0, default = 0)]
    offset: u64,
    /// The `next_cursor` of the page before, with the same `role`, `status`, `agent_id`, `from` and `to`. Not together
    /// with `offset`.
    #[param(value_type = Option<String>, max_length = 512)]
    cursor: Option<String>,
    /// `caller`: executions for which the wallet paid. `creator`: executions of the agents that it listed.
    #[param(inline, required = false, value_type = ExecutionRole)]
    role: ExecutionRole,
    /// The status shown.
    #[param(inline, required = false, value_type = ShownStatus)]
    status: Option<ShownStatus>,
    /// Only executions of this agent.
    #[param(value_type = Option<String>)]
    agent_id: Option<Pubkey>,
    /// Only executions initiated after this ISO 8601 time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime<Utc>>,
    /// Only executions initiated before this ISO 8601 time.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime<Utc>>,
}

impl FromQuery for ExecutionListQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let Paging { limit, offset, cursor } = Paging::with_any_offset(params)?;
        Ok(Self {
            limit,
            offset,
            cursor,
            role: types::word(params, "role", "`caller` or `creator`")?.unwrap_or_default(),
            status: types::word(params, "status", "`completed`, `failed`, `disputed`, `running` or `pending`")?,
            agent_id: types::address(params, "agent_id", "is not an agent identifier")?,
            from: types::time(params, "from")?,
            to: types::time(params, "to")?,
        })
    }
}

/// Executions of the wallet of the API key or session, newest first: those for which it paid, or with `role=creator`
/// those of the agents that it listed.
#[utoipa::path(
    get, path = "/v1/executions", tag = "executions", operation_id = "list_executions", params(ExecutionListQuery),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "One page of executions", body = ExecutionListResponse),
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed, or a `cursor` of another list", body = ErrorBody),
        (status = 401, description = "`unauthorized`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn list_executions(
    State(state): State<ApiState>,
    Reader { wallet }: Reader,
    ApiQuery(query): ApiQuery<ExecutionListQuery>,
) -> Result<(Option<Extension<ShownSlot>>, Json<ExecutionListResponse>), ApiError> {
    let ExecutionListQuery { limit, offset, cursor, role, status, agent_id, from, to } = query;
    let mirror_slot = state.shared.mirror.known().await.slot;
    let filter = ExecutionFilter { role, status, agent: agent_id, from, to };
    let scope = format!("executions of {wallet} {filter:?}");
    let start = Paging { limit, offset, cursor }.start(&scope)?;
    let lists = state.execution_lists(&filter, &start);
    let listed = lists.ask(ExecutionListQuestion { wallet, filter, limit, start }).await;
    let listed = listed.map_err(|error| too_far(error, offset))?;
    let agents: Vec<Pubkey> = listed.items.iter().map(|execution| execution.agent).collect();
    let Named { names, slot } = state.shared.agent_names.of(&agents).await?;
    let executions = listed.items.iter().zip(names);
    let list = ExecutionListResponse {
        executions: executions.map(|(execution, name)| ExecutionSummary::new(&state, execution, name)).collect(),
        total: listed.total,
        limit,
        offset,
        next_cursor: next_cursor(&scope, listed.next.as_ref())?,
    };
    // Names that are from memory can be older than the rows.
    let older = slot.map(|names| Extension(ShownSlot(mirror_slot.map(|rows| rows.min(names)))));
    Ok((older, Json(list)))
}

impl ApiState {
    /// Where a list is asked. For a large offset or a time range, the database may have to read as many rows as a wallet
    /// has, so these have other connections and a longer time limit.
    fn execution_lists(
        &self,
        filter: &ExecutionFilter,
        start: &Start<ExecutionPlace>,
    ) -> &Gathered<ExecutionListQuestion, ExecutionPage> {
        if matches!(start, Start::Offset(skipped) if *skipped > LARGE_OFFSET) {
            &self.shared.slow_execution_lists
        } else if filter.from.is_some() || filter.to.is_some() {
            &self.shared.timed_execution_lists
        } else {
            &self.shared.execution_lists
        }
    }
}

/// A page that is far down may take longer than a list may. Its client learns what to do.
fn too_far(mut error: ApiError, offset: u64) -> ApiError {
    if error.code == ErrorCode::Unavailable && offset > MAX_OFFSET {
        error.message = "the page took too long; read pages that far down with `cursor`".to_owned();
    }
    error
}

/// One execution of the wallet of the API key or session.
#[utoipa::path(
    get, path = "/v1/executions/{execution_id}", tag = "executions", operation_id = "get_execution",
    params(("execution_id" = Uuid, Path, description = "Id of the execution")),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "The full record", body = ExecutionResponse),
        (status = 400, description = "`invalid_request`: `execution_id` is not a UUID, or a query parameter", body = ErrorBody),
        (status = 401, description = "`unauthorized`", body = ErrorBody),
        (status = 404, description = "`execution_not_found`: this wallet has no such execution", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_execution(
    State(state): State<ApiState>,
    Reader { wallet }: Reader,
    ApiPath(execution_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<ExecutionResponse>, ApiError> {
    let execution = state.shared.executions.ask(ExecutionQuestion { wallet, execution_id }).await?;
    let mut execution = execution.ok_or_else(|| ApiError::execution_not_found(&execution_id))?;
    if execution.result.is_none()
        && let Some(hash) = execution.result_hash
    {
        execution.result = state.published_result(&ResultHash(hash)).await;
    }
    Ok(Json(ExecutionResponse::new(&state, execution)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_too_far_down_names_the_cursor() {
        let hint = |error, offset| too_far(error, offset).message.contains("`cursor`");
        assert!(hint(ApiError::unavailable("a statement time-out"), MAX_OFFSET + 1));
        assert!(!hint(ApiError::unavailable("no database"), MAX_OFFSET));
        assert!(!hint(ApiError::internal("a fault"), MAX_OFFSET + 1));
    }
}
