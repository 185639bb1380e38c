//! `GET /v1/executions` and `GET /v1/executions/{execution_id}`: the executions of the wallet of an API key or a session. An execution
//! of another wallet is not found.

use agent_marketplace::state::FailureReason;
use axum::{Extension, Json, extract::State};
use chrono::{DateTime, Utc};
use crtx_http::{
    ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode, FromQuery, QueryParams, Reader, query_batcher::QueryBatcher,
};
use crtx_store::{
    Json as StoredJson,
    executions::REFUNDED,
    reads::{
        ExecutionDetails, ExecutionFailure, ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace,
        ExecutionQuestion, ExecutionRole, ListedExecution, ShownStatus, Start,
    },
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    agent_names::Named,
    layers::ShownSlot,
    paging::{MAX_OFFSET, Paging, next_cursor},
    state::ApiState,
    types,
};

/// A list that skips more rows than this is slow.
const LARGE_OFFSET: u64 = 1_000;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExecutionListResponse {
    pub executions: Vec<ListedExecution>,
    /// Executions that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    /// 0 with a cursor.
    pub offset: u64,
    /// The `cursor` of the next page. null at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
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

/// Why an execution failed. `code` and `message`: what its caller was answered. `reason`: the number on chain; without one
/// no escrow was opened.
pub(crate) fn failure(
    code: Option<&str>,
    message: Option<&str>,
    reason: Option<i16>,
) -> Result<Option<ExecutionFailure>, ApiError> {
    Ok(match (code.zip(message), reason) {
        (Some((code, problem)), reason) => {
            let message = if reason.is_some() { format!("{problem}; {REFUNDED}") } else { problem.to_owned() };
            Some(ExecutionFailure { code: code.to_owned(), message })
        }
        (None, Some(number)) => {
            let found = ON_CHAIN.into_iter().find(|(reason, ..)| i16::from(*reason as u8) == number);
            let (_, code, message) =
                found.ok_or_else(|| ApiError::internal(format!("no failure reason has the number {number}")))?;
            Some(ExecutionFailure { code: code.to_owned(), message: message.to_owned() })
        }
        (None, None) => None,
    })
}

/// The code of the same in a list; `None` unless it failed.
fn failure_code(execution: &ListedExecution) -> Result<Option<String>, ApiError> {
    if execution.status != ShownStatus::Failed {
        return Ok(None);
    }
    let code = execution.error_code.as_deref();
    Ok(failure(code, code, execution.failure_reason)?.map(|failure| failure.code))
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
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed, or a `cursor` of another list", body = ErrorBody)
    )
)]
pub async fn list_executions(
    State(state): State<ApiState>,
    Reader { wallet, .. }: Reader,
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
    let agents: Vec<Pubkey> = listed.items.iter().map(|execution| execution.agent_id).collect();
    let Named { names, slot } = state.shared.agent_names.of(&agents).await?;
    let complete = |(execution, agent_name): (ListedExecution, String)| {
        let on_chain_record = state.links().account(&execution.record);
        Ok(ListedExecution { failure: failure_code(&execution)?, agent_name, on_chain_record, ..execution })
    };
    let list = ExecutionListResponse {
        executions: listed.items.into_iter().zip(names).map(complete).collect::<Result<_, ApiError>>()?,
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
    ) -> &QueryBatcher<ExecutionListQuestion, ExecutionPage> {
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
        (status = 200, description = "The full record", body = ExecutionDetails),
        (status = 400, description = "`invalid_request`: `execution_id` is not a UUID, or a query parameter", body = ErrorBody),
        (status = 404, description = "`execution_not_found`: this wallet has no such execution", body = ErrorBody)
    )
)]
pub async fn get_execution(
    State(state): State<ApiState>,
    Reader { wallet, .. }: Reader,
    ApiPath(execution_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<ExecutionDetails>, ApiError> {
    let execution = state.shared.executions.ask(ExecutionQuestion { wallet, execution_id }).await?;
    let mut execution = execution.ok_or_else(|| ApiError::execution_not_found(&execution_id))?;
    let hash = execution.result_hash.as_deref().and_then(|hash| hash.parse().ok());
    if execution.result.is_none()
        && let Some(hash) = &hash
    {
        execution.result = state.published_result(hash).await;
    }
    let failed = execution.status == ShownStatus::Failed;
    let (code, message) = (execution.error_code.as_deref(), execution.error_message.as_deref());
    let error = if failed { failure(code, message, execution.failure_reason)? } else { None };
    Ok(Json(ExecutionDetails {
        error: error.map(StoredJson),
        on_chain_record: state.links().account(&execution.record),
        ipfs_url: hash.map(|hash| state.links().content(&hash)),
        ..execution
    }))
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
