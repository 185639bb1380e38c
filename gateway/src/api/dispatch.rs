//! `POST /v1/executions/{execution_id}/dispatch`: hands over an execution that the wallet opened itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use crtx_http::{ApiError, ApiPath, ErrorBody, ErrorCode, SignedIn, extract::check_content_type};
use crtx_store::{
    admission::Reservation,
    executions::{Call, Execution},
};
use solana_pubkey::Pubkey;
use tokio::sync::watch;
use uuid::Uuid;

use super::{answer, execute};
use crate::{
    admission::{self, gate::CallPlace, large::LargePlace},
    engine::{Stage, TimeSpent},
    gateway::Gateway,
    request::{ExecuteBody, ReceivedRequest},
    wallet_opening::{WalletOpening, other_request},
};

/// What became of the execution.
enum TakenOver {
    Running(watch::Receiver<Stage>),
    /// It was handed over before.
    Before(Box<Execution>),
}

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
        (status = 415, description = "`unsupported_media_type`: the content type is not JSON", body = ErrorBody),
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
    request: Request,
) -> Response {
    let started = Instant::now();
    let mut spent = TimeSpent::default();
    let answer = answer_dispatch(&gateway, execution_id, request, &mut spent).await;
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    response.headers_mut().insert(execute::SERVER_TIMING, execute::server_timing(started.elapsed(), spent));
    response
}

async fn answer_dispatch(
    gateway: &Gateway,
    execution_id: Uuid,
    request: Request,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let (mut head, body) = request.into_parts();
    execute::refuse_query(&head)?;
    let wallet = SignedIn::from_request_parts(&mut head, gateway).await?.wallet;
    let engine = &gateway.engine;
    engine.refused.check(&wallet)?;
    execute::slow_if_refused(gateway, &wallet, check_content_type(&head.headers)).await?;
    let record = engine.instructions.addresses.execution(&wallet, execution_id.as_bytes());
    let looked_at = Instant::now();
    let mut known = engine.executions.get(&record).await?;
    let mut opening = match &known {
        Some(_) => None,
        None => {
            let opening = spent.on_chain(engine.wallet_opening(&wallet, &execution_id)).await;
            Some(execute::slow_if_refused(gateway, &wallet, opening).await?)
        }
    };
    let dear = execute::calls_in(&body);
    let received = receive(gateway, &wallet, &head, body).await;
    let (received, large_place) = execute::slow_if_refused_as(dear, gateway, &wallet, received).await?;
    if looked_at.elapsed() > execute::FRESH {
        known = engine.executions.get(&record).await?;
        opening = None;
    }
    if let Some(execution) = known {
        return recall(gateway, &execution, &received.request_hash, received.is_async).await;
    }
    let opening = match opening {
        Some(opening) => Ok(opening),
        None => spent.on_chain(engine.wallet_opening(&wallet, &execution_id)).await,
    };
    let opening = opening.and_then(|opening| opening.check_request(&received.request_hash).map(|()| opening));
    let opening = execute::slow_if_refused(gateway, &wallet, opening).await?;
    let place = Arc::new(engine.gate.enter(&wallet, &opening.agent).await?);
    let call = prepare(gateway, &wallet, execution_id, &opening, received).await;
    drop(large_place);
    let call = execute::slow_if_refused_as(dear, gateway, &wallet, call).await?;
    match take_over(gateway, call.clone(), opening, place).await? {
        TakenOver::Before(execution) => recall(gateway, &execution, &call.request_hash, call.is_async).await,
        TakenOver::Running(_) if call.is_async => Ok(answer::pending(execution_id)),
        TakenOver::Running(stages) => execute::follow(gateway, &call, stages, spent).await,
    }
}

/// Reads the body.
async fn receive(
    gateway: &Gateway,
    wallet: &Pubkey,
    head: &Parts,
    body: Body,
) -> Result<(ReceivedRequest, Option<LargePlace>), ApiError> {
    let (bytes, place) = execute::read(gateway, wallet, head, body).await?;
    Ok((crtx_http::body::parsed(bytes, |bytes| ReceivedRequest::parse(bytes)).await?, place))
}

/// The answer for an execution that this service knows already.
async fn recall(
    gateway: &Gateway,
    execution: &Execution,
    request_hash: &[u8; 32],
    is_async: bool,
) -> Result<Response, ApiError> {
    let call = &execution.call;
    let conflict = |message: &str| ApiError::new(ErrorCode::Conflict, message).with_execution(call.execution_id);
    if call.session_key.is_some() {
        return Err(conflict("the execution was opened with an API key, and is worked on without being handed over"));
    }
    if call.request_hash != *request_hash {
        return Err(other_request(&call.request_hash, request_hash).with_execution(call.execution_id));
    }
    if is_async {
        return Ok(answer::pending(call.execution_id));
    }
    let under_way = || conflict("the execution is worked on").with_retry_after(Duration::from_secs(1));
    answer::recorded(&gateway.engine, execution).await.unwrap_or_else(|| Err(under_way()))
}

/// Makes the checks that need the agent's document.
async fn prepare(
    gateway: &Gateway,
    wallet: &Pubkey,
    execution_id: Uuid,
    opening: &WalletOpening,
    received: ReceivedRequest,
) -> Result<Call, ApiError> {
    let engine = &gateway.engine;
    let document = engine.documents.get(&opening.agent, &opening.listing.metadata_hash).await?;
    let mut received = received.to(&opening.agent)?;
    document.check(&mut received.request.parameters).await?;
    document.check_reachable().await?;
    Ok(Call {
        record: engine.instructions.addresses.execution(wallet, execution_id.as_bytes()),
        execution_id,
        caller: *wallet,
        agent: opening.agent,
        session_key: None,
        idempotency_key: None,
        body_hash: received.body_hash,
        is_async: received.is_async,
        request: received.request,
        request_hash: received.request_hash,
        amount: opening.amount,
        timeout_seconds: opening.timeout_seconds,
        endpoint: document.endpoint.clone(),
    })
}

/// Takes the execution over, in a task of its own: if the caller disconnects, it either runs or has no row.
async fn take_over(
    gateway: &Gateway,
    call: Call,
    opening: WalletOpening,
    place: Arc<CallPlace>,
) -> Result<TakenOver, ApiError> {
    let gateway = gateway.clone();
    let tasks = gateway.engine.tasks.clone();
    let task = tasks.spawn(async move {
        let engine = &gateway.engine;
        let limits = engine.config.limits.calls;
        let lease = match engine.executions.take_over(&call, opening.opened_at, limits).await? {
            Reservation::New(lease) => lease,
            Reservation::Existing(execution) => return Ok(TakenOver::Before(execution)),
            Reservation::Refused(refusal) => return Err(admission::over_limit(&limits, &refusal)),
        };
        let wallet = call.caller;
        let stages = engine.start(lease, call, None);
        execute::keep_place(&gateway, wallet, place, stages.clone());
        Ok(TakenOver::Running(stages))
    });
    task.await.map_err(ApiError::internal)?
}
