//! Answers to a call (`docs/specification.md`, "Execute an agent"). A replay gets the same one from the stored execution.

use std::time::Duration;

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use crtx_http::{ApiError, ErrorCode, Links};
use crtx_protocol::{creator_answer::MAX_RESULT_BYTES, result_hash::ResultHash, usdc::UsdcBase};
use crtx_store::executions::{
    Call, Charged, Delivered, Failure, REFUNDED, Reported, SettledElsewhere, StoredExecution,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::engine::{Ended, Engine};

/// Of a result that is delivered and settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveredStatus {
    Completed,
}

/// Of a call that is not finished yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnderWayStatus {
    /// Escrow confirmed, task dispatched.
    Pending,
    /// The agent has answered; settlement is still under way.
    Running,
}

/// The answer to a call with `async`, or one without it.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only described")]
pub enum ExecuteAnswers {
    Delivered(ExecuteAnswer),
    Asynchronous(StatusAnswer),
}

/// A delivered and settled result.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExecuteAnswer {
    pub execution_id: Uuid,
    pub status: DeliveredStatus,
    pub result: String,
    /// `sha256:` and the hex SHA-256 of the result; committed on chain.
    pub result_hash: String,
    /// USDC deducted.
    #[schema(value_type = f64)]
    pub cost_usdc: UsdcBase,
    /// Present if the creator's service reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// From dispatch to the delivery of the result.
    pub execution_time_ms: u64,
    /// The `ExecutionRecord` on a chain explorer.
    pub on_chain_record: String,
    /// The full result by its hash.
    pub ipfs_url: String,
    /// The creator's reasoning trace, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub steps: Option<Value>,
}

/// A call that is not finished yet; poll `GET /v1/executions/{execution_id}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StatusAnswer {
    pub execution_id: Uuid,
    pub status: UnderWayStatus,
}

/// An asynchronous call whose escrow is confirmed.
pub fn pending(execution_id: Uuid) -> Response {
    Json(StatusAnswer { execution_id, status: UnderWayStatus::Pending }).into_response()
}

/// The stored error of the execution and the state of its escrow. `escrow` is `None` if no escrow was opened.
fn failure(call: &Call, failure: &Failure, escrow: Option<&str>) -> ApiError {
    let code = ErrorCode::parse(&failure.code).unwrap_or(ErrorCode::ExecutionFailed);
    let message = escrow.map_or_else(|| failure.message.clone(), |escrow| format!("{}; {escrow}", failure.message));
    let error = ApiError::new(code, message).with_execution(call.execution_id);
    if code == ErrorCode::Unavailable { error.with_retry_after(Duration::from_secs(1)) } else { error }
}

/// The answer to a call whose result is settled.
fn delivered(
    call: &Call,
    links: &Links,
    result: String,
    hash: [u8; 32],
    charged: Charged,
    reported: Reported,
    steps: Option<Value>,
) -> Response {
    let hash = ResultHash(hash);
    Json(ExecuteAnswer {
        execution_id: call.execution_id,
        status: DeliveredStatus::Completed,
        result,
        result_hash: hash.to_string(),
        cost_usdc: charged.amount,
        tokens_used: reported.tokens_used,
        execution_time_ms: reported.execution_time_ms,
        on_chain_record: links.account(&call.record),
        ipfs_url: links.content(&hash),
        steps,
    })
    .into_response()
}

/// The answer to a call that has ended.
pub fn ended(call: &Call, ended: &Ended, links: &Links) -> Result<Response, ApiError> {
    match ended {
        Ended::Completed(result, charged) => {
            let Delivered { tokens_used, execution_time_ms, hash, .. } = **result;
            let reported = Reported { tokens_used, execution_time_ms };
            let (text, steps) = (result.result.clone(), result.steps.clone());
            Ok(delivered(call, links, text, hash, *charged, reported, steps))
        }
        Ended::SettledElsewhere(settled) => Err(settled_elsewhere(call, settled)),
        Ended::StillSettling => {
            let answer = StatusAnswer { execution_id: call.execution_id, status: UnderWayStatus::Running };
            Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
        }
        Ended::Failed(stored) => Err(failure(call, stored, Some(REFUNDED))),
        Ended::NotOpened(stored) => Err(failure(call, stored, None)),
        Ended::NeverOpened(error) => Err(error.clone()),
        Ended::RefundPending(stored) => Err(failure(call, stored, Some("the refund is under way"))),
        Ended::OpeningUnknown => Err(interrupted(call.execution_id)),
    }
}

/// The answer of a finished execution. A result that somebody else settled is answered as soon as its content is there.
pub async fn recorded(engine: &Engine, execution: &StoredExecution) -> Option<Result<Response, ApiError>> {
    let (call, links) = (&execution.call, &engine.config.links);
    let outcome = Ended::of(execution)?;
    if let Ended::SettledElsewhere(SettledElsewhere { charged, result_hash, reported }) = outcome
        && let Some(result) = published(engine, &ResultHash(result_hash)).await
    {
        let delivered = delivered(call, links, result, result_hash, charged, reported, None);
        return Some(Ok(delivered));
    }
    Some(ended(call, &outcome, links))
}

/// The text of a result in the content store. Content that is no result counts as missing, like a store that fails.
async fn published(engine: &Engine, hash: &ResultHash) -> Option<String> {
    let content = engine.content.get_up_to(hash, MAX_RESULT_BYTES).await.ok().flatten()?;
    String::from_utf8(content.into()).ok()
}

/// The result was paid for, but this service does not have it.
fn settled_elsewhere(call: &Call, settled: &SettledElsewhere) -> ApiError {
    let (cost, hash) = (settled.charged.amount, ResultHash(settled.result_hash));
    let message = format!(
        "the execution was settled on chain without this service: {cost} USDC was paid for the result {hash}, which \
         this service does not have; ask the creator for it, or raise a dispute"
    );
    ApiError::new(ErrorCode::ResultUnavailable, message).with_execution(call.execution_id)
}

/// The outcome of the call is not known yet. The call is stored and will be resolved.
pub fn interrupted(execution_id: Uuid) -> ApiError {
    let message = "the call could not be followed to its end; it is stored and will be settled or refunded: poll the \
                   execution, or retry with the same Idempotency-Key";
    ApiError::new(ErrorCode::Unavailable, message).with_execution(execution_id).with_retry_after(Duration::from_secs(2))
}
