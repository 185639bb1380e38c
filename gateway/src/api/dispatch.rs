//! `POST /v1/executions/{execution_id}/dispatch`: hands over an execution that the wallet opened itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_marketplace::state::MarketParameters;
use axum::{
    extract::{FromRequestParts, Request, State},
    response::Response,
};
use chrono::{DateTime, Utc};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode, SignedIn, extract::check_content_type};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    admission::Reservation,
    executions::{Call, StoredExecution},
};
use solana_pubkey::Pubkey;
use tracing::Instrument;
use uuid::Uuid;

use super::{
    answer,
    execute::{self, Attempt, Earlier},
};
use crate::{
    admission::gate::CallPermit,
    engine::TimeSpent,
    gateway::Gateway,
    request::ExecuteBody,
    wallet_opening::{WalletOpening, check_request},
};

/// Hands over task and parameters of an execution that the wallet opened itself, and returns the verified result. From
/// here it is an execution like any other: the agent is called, and the escrow is settled or refunded. It is handed over
/// once: a repetition gets the same answer, or 409 while it is worked on.
#[utoipa::path(
    post,
    path = "/v1/executions/{execution_id}/dispatch",
    operation_id = "dispatch_execution",
    tag = "executions",
    security(("session" = []), ("session_cookie" = [])),
    params(("execution_id" = Uuid, Path, description = "Id of the execution, as its record has it")),
    request_body = ExecuteBody,
    responses(
        (status = 200, description = "Delivered and settled; with `async`, only id and `pending`", body = answer::ExecuteAnswers),
        (status = 202, description = "The result is good, settlement is still under way", body = answer::StatusAnswer),
        (status = 400, description = "`invalid_request`: a field, or parameters that do not match the agent's `input_schema`", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 403, description = "`forbidden`: the session's cookie without its token", body = ErrorBody),
        (status = 404, description = "`execution_not_found`: no such record of this wallet on chain (yet; `Retry-After`). `agent_not_found`: no document of the agent", body = ErrorBody),
        (status = 408, description = "`execution_timeout`; refunded. `request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`conflict`: another request than the record's, an execution that has ended or was opened with an API key, too little time before the deadline, or it is worked on (`Retry-After`)", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 1 MiB", body = ErrorBody),
        (status = 422, description = "`agent_unpayable`: the creator has no USDC account that can receive money", body = ErrorBody),
        (status = 429, description = "`rate_limited`: too many calls of this wallet or agent are under way, failed, or were refused", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
        (status = 500, description = "`execution_failed` or `interrupted`; refunded", body = ErrorBody),
        (status = 502, description = "`result_unavailable`: settled on chain without this service", body = ErrorBody),
        (status = 503, description = "`unavailable`", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
    ),
)]
pub async fn dispatch_execution(
    State(gateway): State<Gateway>,
    ApiPath(execution_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let mut spent = TimeSpent::default();
    let answer = answer_dispatch(&gateway, execution_id, request, &mut spent).await;
    execute::timed(answer, started, spent)
}

async fn answer_dispatch(
    gateway: &Gateway,
    execution_id: Uuid,
    request: Request,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let (mut head, body) = request.into_parts();
    let wallet = SignedIn::from_request_parts(&mut head, gateway).await?.wallet;
    let engine = &gateway.engine;
    let refused = &engine.refused;
    refused.check(&wallet)?;
    refused.slow(&wallet, 1, check_content_type(&head.headers)).await?;
    let record = engine.instructions.addresses.execution(&wallet, execution_id.as_bytes());
    let (mut found, read) = find(gateway, &wallet, &execution_id, spent).await?;
    let agent = match &found {
        HandedOver::Known(execution) => execution.call.agent,
        HandedOver::Opened(opening) => opening.record.agent,
    };
    let dear = execute::calls_in(&body);
    let received = execute::receive(gateway, &wallet, &agent, &head, body).await;
    let (received, large_place) = refused.slow(&wallet, dear, received).await?;
    if !read.is_fresh() {
        (found, _) = find(gateway, &wallet, &execution_id, spent).await?;
    }
    let opening = match found {
        HandedOver::Known(execution) => {
            return recall(gateway, &execution, &received.request_hash, received.is_async).await;
        }
        HandedOver::Opened(opening) => opening,
    };
    refused.slow(&wallet, 1, check_request(&opening.terms.request_hash, &received.request_hash)).await?;
    let permit = Arc::new(engine.gate.enter(&wallet, &opening.record.agent).await?);
    let mut call = received.into_call(record, execution_id, wallet, opening.record.agent);
    (call.amount, call.timeout_seconds) = (UsdcBase(opening.record.amount), opening.terms.timeout_seconds);
    let checked = execute::check_by_document(gateway, &mut call, &opening.listing).await;
    drop(large_place);
    refused.slow(&wallet, dear, checked).await?;
    let opened_at = DateTime::from_timestamp(opening.record.opened_at_unix_s, 0).unwrap_or_default();
    take_over(gateway, call.clone(), opened_at, permit).await?.answer(gateway, &call, spent).await
}

/// So long after its opening no record is closed, and so none is opened again: that takes a dispute window at least. An hour
/// less, because clocks differ.
const SURELY_PRESENT_S: i64 = MarketParameters::MIN_DISPUTE_WINDOW_S - 3_600;

/// What is handed over.
enum HandedOver {
    /// An execution of this service.
    Known(Box<StoredExecution>),
    /// An opening that this service does not work on yet.
    Opened(Box<WalletOpening>),
}

/// Finds the present opening, and says when its row was read. The chain is asked only if this service does not know the
/// opening. What it refuses counts as a refused call, also if the answer is that of a known execution.
async fn find(
    gateway: &Gateway,
    wallet: &Pubkey,
    id: &Uuid,
    spent: &mut TimeSpent,
) -> Result<(HandedOver, Earlier), ApiError> {
    let mut read = Earlier::find(gateway, Some((wallet, id)), true).await?;
    let found = match read.execution.take() {
        Some(known) if !may_be_past(&known) => HandedOver::Known(Box::new(known)),
        known => {
            let opening = spent.on_chain(gateway.engine.wallet_opening(wallet, id)).await;
            match (gateway.engine.refused.slow(wallet, 1, opening).await, known) {
                (Ok(opening), None) => HandedOver::Opened(Box::new(opening)),
                (Ok(opening), Some(known)) if has_ended_before(&known, &opening) => {
                    HandedOver::Opened(Box::new(opening))
                }
                (_, Some(known)) => HandedOver::Known(Box::new(known)),
                (Err(error), None) => return Err(error),
            }
        }
    };
    Ok((found, read))
}

fn has_ended_before(known: &StoredExecution, opening: &WalletOpening) -> bool {
    known.finished_at.is_some_and(|finished_at| finished_at.timestamp() < opening.record.opened_at_unix_s)
}

/// Whether the wallet may have opened the record again, which is another call.
fn may_be_past(execution: &StoredExecution) -> bool {
    let age = Utc::now().signed_duration_since(execution.created_at).num_seconds();
    execution.finished_at.is_some() && age > SURELY_PRESENT_S
}

/// The answer for an execution that this service knows already.
async fn recall(
    gateway: &Gateway,
    execution: &StoredExecution,
    request_hash: &[u8; 32],
    is_async: bool,
) -> Result<Response, ApiError> {
    let call = &execution.call;
    let conflict = |message: &str| ApiError::new(ErrorCode::Conflict, message).with_execution(call.execution_id);
    if call.session_key.is_some() {
        return Err(conflict("the execution was opened with an API key, and is worked on without being handed over"));
    }
    check_request(&call.request_hash, request_hash).map_err(|error| error.with_execution(call.execution_id))?;
    if is_async {
        return Ok(answer::pending(call.execution_id));
    }
    let under_way = || conflict("the execution is worked on").with_retry_after(Duration::from_secs(1));
    answer::recorded(&gateway.engine, execution).await.unwrap_or_else(|| Err(under_way()))
}

/// Takes the execution over, in a task of its own: if the caller disconnects, it either runs or has no row.
async fn take_over(
    gateway: &Gateway,
    call: Call,
    opened_at: DateTime<Utc>,
    permit: Arc<CallPermit>,
) -> Result<Attempt, ApiError> {
    let gateway = gateway.clone();
    let tasks = gateway.engine.tasks.clone();
    let task = async move {
        let engine = &gateway.engine;
        Ok(match engine.executions.take_over(&call, opened_at, engine.config.limits.calls).await? {
            Reservation::New(lease) => Attempt::Running(engine.start(lease, call, None, permit)),
            // The mirror has not seen the new opening yet, which gives the row of the earlier one another key.
            Reservation::Existing(execution)
                if execution.finished_at.is_some_and(|finished_at| finished_at < opened_at) =>
            {
                let error = ApiError::new(ErrorCode::Conflict, "the opening was not seen yet; try again in a moment");
                Attempt::Answered(Err(error.with_retry_after(Duration::from_secs(1))))
            }
            Reservation::Existing(execution) => {
                Attempt::Answered(recall(&gateway, &execution, &call.request_hash, call.is_async).await)
            }
            Reservation::Refused(refusal) => Attempt::Refused(refusal),
        })
    };
    // The request names itself in the lines of the call.
    let task = tasks.spawn(task.in_current_span());
    task.await.map_err(ApiError::internal)?
}
