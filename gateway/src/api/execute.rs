//! `POST /v1/agents/{agent_id}/execute`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use crtx_http::{
    ApiError, ApiPath, AuthState, Caller, ErrorBody, ErrorCode, auth::Presented, extract::check_content_type,
};
use crtx_protocol::text::shortened;
use crtx_store::{
    admission::{Bounds, ReadAt, Refusal, Reservation, Retry},
    executions::{Call, Execution, Lease, State as ExecutionState},
};
use solana_pubkey::Pubkey;
use tokio::sync::watch;

use super::answer;
use crate::{
    admission::{self, Patience, gate::Place},
    engine::{Ended, Stage, TimeSpent, ToOpen},
    gateway::Gateway,
    request::{self, ExecuteBody, ReceivedCall},
    terms::Terms,
    terms_ahead::TermsAhead,
};

pub(super) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// What an earlier use of the idempotency key means for this call.
enum Known {
    /// The stored answer is returned.
    Answer(Result<Response, ApiError>),
    /// The earlier call ended without an escrow and without cost: try again.
    Retry,
}

/// A call that was not refused.
enum Accepted {
    /// The call runs; the receiver shows its progress.
    Running(watch::Receiver<Stage>),
    /// An earlier call with the same idempotency key has this answer.
    Answered(Result<Response, ApiError>),
}

/// Outcome of one attempt to admit a call.
enum Attempt {
    Accepted(Accepted),
    Refused(Refusal),
}

/// Pays an agent for one call and returns its verified result.
///
/// Results are public: whoever reads the chain finds the address of every result and can download it without a
/// credential. Task and parameters are not published; their SHA-256 is, the creator gets them, and this service stores
/// them.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent_id}/execute",
    operation_id = "execute_agent",
    tag = "executions",
    security(("api_key" = [])),
    params(
        ("agent_id" = String, Path, description = "Address of the listing"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "1 to 255 visible ASCII characters. A retry with the same key and body never pays twice."),
    ),
    request_body = ExecuteBody,
    responses(
        (status = 200, description = "Delivered and settled; with `async`, only id and `pending`", body = answer::ExecuteAnswers),
        (status = 202, description = "The result is good, settlement is still under way", body = answer::StatusAnswer),
        (status = 400, description = "`invalid_request`", body = ErrorBody),
        (status = 401, description = "`unauthorized`", body = ErrorBody),
        (status = 402, description = "`insufficient_balance`: less than the price is available after the calls in progress", body = ErrorBody),
        (status = 403, description = "`forbidden`: the key's on-chain grant does not allow it", body = ErrorBody),
        (status = 404, description = "`agent_not_found`", body = ErrorBody),
        (status = 408, description = "`execution_timeout`; refunded. `request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`conflict`: idempotency key in use", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 1 MiB", body = ErrorBody),
        (status = 415, description = "`unsupported_media_type`: the content type is not JSON", body = ErrorBody),
        (status = 422, description = "`agent_paused`", body = ErrorBody),
        (status = 429, description = "`rate_limited`: too many calls of this key, wallet or agent are under way, failed, or were refused", body = ErrorBody,
            headers(
                ("Retry-After" = u64, description = "Seconds"),
                ("RateLimit" = String, description = "The limit that was met (draft-ietf-httpapi-ratelimit-headers)"),
                ("RateLimit-Policy" = String, description = "Its quota"),
            )),
        (status = 500, description = "`execution_failed` or `interrupted`; refunded", body = ErrorBody),
        (status = 502, description = "`result_unavailable`: settled on chain without this service", body = ErrorBody),
        (status = 503, description = "`unavailable`: retry with the same idempotency key", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
    ),
)]
pub async fn execute(State(gateway): State<Gateway>, ApiPath(agent_id): ApiPath<String>, request: Request) -> Response {
    let started = Instant::now();
    let mut spent = TimeSpent::default();
    let answer = answer_call(&gateway, &agent_id, request, &mut spent).await;
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    response.headers_mut().insert(SERVER_TIMING, server_timing(started.elapsed(), spent));
    response
}

async fn answer_call(
    gateway: &Gateway,
    agent_id: &str,
    request: Request,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    refuse_query(&head)?;
    let presented = Presented::read(&head.headers, gateway.network())?;
    gateway.engine.refused.check(presented.session_key())?;
    let agent = agent_id.parse::<Pubkey>();
    let ahead = match &agent {
        Ok(agent) => gateway.engine.terms_ahead(presented.session_key(), agent).await,
        Err(_) => None,
    };
    let caller = presented.authenticate(gateway.pool()).await?;
    gateway.engine.known_payers.remember(&caller).await;
    let agent = agent.map_err(|_| ApiError::agent_not_found(agent_id));
    let received = receive(gateway, agent, &head.headers, body).await;
    let (agent, received, idempotency_key) = slow_if_refused(gateway, &caller.session_key, received).await?;
    if let Some(key) = &idempotency_key
        && let Some(Known::Answer(answer)) = known(gateway, &caller, key, &received).await?
    {
        return answer;
    }
    let place = Arc::new(gateway.engine.gate.enter(&caller.wallet, &agent).await?);
    let prepared = async {
        let terms = terms(gateway, &caller, &agent, ahead, spent).await?;
        let call = prepare(gateway, &caller, &agent, &terms, received, idempotency_key).await?;
        Ok((terms, call, place))
    };
    let prepared = prepared.await;
    let (terms, mut call, place) = slow_if_refused(gateway, &caller.session_key, prepared).await?;
    let stages = match accept(gateway, &caller, &mut call, terms, &place, spent).await? {
        Accepted::Running(stages) => stages,
        Accepted::Answered(answer) => return answer,
    };
    if call.is_async {
        follow_to_opening(gateway, &call, stages, spent).await
    } else {
        follow(gateway, &call, stages, spent).await
    }
}

/// Reads the request. Returns 400, 404, 408, 413 or 415 if it is not a valid call.
async fn receive(
    gateway: &Gateway,
    agent: Result<Pubkey, ApiError>,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<(Pubkey, ReceivedCall, Option<String>), ApiError> {
    let agent = agent?;
    check_content_type(headers)?;
    let received = ReceivedCall::parse(&agent, &read(gateway, body).await?)?;
    Ok((agent, received, request::idempotency_key(headers)?))
}

/// Delays the answers of a key, or of a wallet that signed in, that repeats refused calls.
pub(super) async fn slow_if_refused<T>(
    gateway: &Gateway,
    key: &Pubkey,
    checked: Result<T, ApiError>,
) -> Result<T, ApiError> {
    if checked.is_err() {
        let refused = &gateway.engine.refused;
        refused.count(key);
        tokio::time::sleep(refused.pause(key)).await;
    }
    checked
}

/// What the refused calls of this call's payer are counted under.
fn payer_of(call: &Call) -> &Pubkey {
    call.session_key.as_ref().unwrap_or(&call.caller)
}

pub(super) fn refuse_query(head: &Parts) -> Result<(), ApiError> {
    let Some(query) = head.uri.query().filter(|query| !query.is_empty()) else { return Ok(()) };
    let query = shortened(query, 64);
    Err(ApiError::invalid_request(format!("this endpoint takes no query parameters, not `{query}`")))
}

pub(super) async fn read(gateway: &Gateway, body: axum::body::Body) -> Result<Bytes, ApiError> {
    crtx_http::body::read(body, gateway.engine.config.limits.max_body_bytes).await
}

/// Looks up the idempotency key.
async fn known(
    gateway: &Gateway,
    caller: &Caller,
    key: &str,
    received: &ReceivedCall,
) -> Result<Option<Known>, ApiError> {
    let id = request::execution_id(&caller.wallet, Some(key));
    let record = gateway.engine.instructions.addresses.execution(&caller.wallet, id.as_bytes());
    let Some(execution) = gateway.engine.executions.get(&record).await? else { return Ok(None) };
    Ok(Some(recall(gateway, &execution, &received.body_hash).await))
}

async fn recall(gateway: &Gateway, execution: &Execution, body_hash: &[u8; 32]) -> Known {
    let call = &execution.call;
    if call.body_hash != *body_hash {
        let message = "the Idempotency-Key was used with another agent, task, parameters or mode";
        let error = ApiError::new(ErrorCode::Conflict, message).with_execution(call.execution_id);
        return Known::Answer(Err(error));
    }
    let paid = execution.opened_at.is_some();
    match execution.state {
        ExecutionState::Failed | ExecutionState::Reserved if !paid => Known::Retry,
        _ if call.is_async && paid => Known::Answer(Ok(answer::pending(call.execution_id))),
        _ => {
            Known::Answer(answer::recorded(&gateway.engine, execution).await.unwrap_or_else(|| Err(in_progress(call))))
        }
    }
}

fn in_progress(call: &Call) -> ApiError {
    ApiError::new(ErrorCode::Conflict, "a call with this Idempotency-Key is still in progress")
        .with_execution(call.execution_id)
        .with_retry_after(Duration::from_secs(1))
}

/// Returns the terms, from the early read if it is usable.
async fn terms(
    gateway: &Gateway,
    caller: &Caller,
    agent: &Pubkey,
    ahead: Option<TermsAhead>,
    spent: &mut TimeSpent,
) -> Result<Terms, ApiError> {
    let payer = caller.into();
    if let Some(ahead) = ahead
        && let Some((terms, took)) = ahead.of(&payer).await
    {
        spent.add(TimeSpent { chain: took, ..TimeSpent::default() });
        return terms;
    }
    spent.on_chain(gateway.engine.terms(&payer, agent)).await
}

/// Makes every other check that can refuse the call before money moves.
async fn prepare(
    gateway: &Gateway,
    caller: &Caller,
    agent: &Pubkey,
    terms: &Terms,
    mut received: ReceivedCall,
    idempotency_key: Option<String>,
) -> Result<Call, ApiError> {
    let engine = &gateway.engine;
    let document = engine.documents.get(agent, &terms.listing.metadata_hash).await?;
    document.check(&mut received.request.parameters).await?;
    document.check_reachable().await?;
    let execution_id = request::execution_id(&caller.wallet, idempotency_key.as_deref());
    Ok(Call {
        record: engine.instructions.addresses.execution(&caller.wallet, execution_id.as_bytes()),
        execution_id,
        caller: caller.wallet,
        agent: *agent,
        session_key: Some(caller.session_key),
        idempotency_key,
        body_hash: received.body_hash,
        is_async: received.is_async,
        request: received.request,
        request_hash: received.request_hash,
        amount: terms.price,
        timeout_seconds: terms.listing.timeout_seconds,
        endpoint: document.endpoint.clone(),
    })
}

/// Admits and starts the call, or returns the answer of the earlier call with the same idempotency key.
///
/// If the call lacks only money that other calls of its wallet have reserved, the chain is read again for a short
/// time: money that was taken before the first read is counted twice.
async fn accept(
    gateway: &Gateway,
    caller: &Caller,
    call: &mut Call,
    mut terms: Terms,
    place: &Arc<Place>,
    spent: &mut TimeSpent,
) -> Result<Accepted, ApiError> {
    let engine = &gateway.engine;
    let limits = engine.config.limits.admission;
    let mut patience = Patience::new(limits.funds_patience);
    let mut bounds = admission::bounds(&terms, ReadAt::Local(terms.read_at), limits.calls);
    // Most calls are admitted at the first attempt, so the opening is prepared at the same time.
    let prepared = gateway.engine.prepare_opening(call.clone(), caller.clone(), terms.listing.hash_of_terms());
    let mut opening = ToOpen::Prepared(prepared);
    loop {
        let shortage = match attempt(gateway, caller, call, bounds, place, opening).await? {
            Attempt::Accepted(accepted) => return Ok(accepted),
            Attempt::Refused(Refusal::Short(shortage)) => shortage,
            Attempt::Refused(refusal) => return Err(admission::over_limit(&limits.calls, &refusal)),
        };
        if !patience.another_attempt().await {
            return Err(admission::short(&terms, &shortage));
        }
        let document = terms.listing.metadata_hash;
        terms = spent.on_chain(engine.terms(&caller.into(), &call.agent)).await?;
        if terms.listing.metadata_hash != document {
            let message = "the agent was changed while the call was prepared; nothing was charged, try again";
            return Err(ApiError::new(ErrorCode::Unavailable, message).with_retry_after(Duration::from_secs(1)));
        }
        (call.amount, call.timeout_seconds) = (terms.price, terms.listing.timeout_seconds);
        opening = ToOpen::OnTerms(terms.listing.hash_of_terms());
        bounds = admission::bounds(&terms, ReadAt::Database(shortage.as_of), limits.calls);
    }
}

/// Makes one attempt in a task of its own: if the caller disconnects, the call either runs or leaves no reservation.
async fn attempt(
    gateway: &Gateway,
    caller: &Caller,
    call: &Call,
    bounds: Bounds,
    place: &Arc<Place>,
    opening: ToOpen,
) -> Result<Attempt, ApiError> {
    let (gateway, caller, call, place) = (gateway.clone(), caller.clone(), call.clone(), Arc::clone(place));
    let tasks = gateway.engine.tasks.clone();
    let task = tasks.spawn(async move {
        let executions = &gateway.engine.executions;
        let lease = match executions.reserve(&call, &bounds).await? {
            Reservation::New(lease) => lease,
            Reservation::Refused(refusal) => return Ok(Attempt::Refused(refusal)),
            Reservation::Existing(execution) => match recall(&gateway, &execution, &call.body_hash).await {
                Known::Answer(answer) => return Ok(Attempt::Accepted(Accepted::Answered(answer))),
                Known::Retry => match executions.retry(&call, &bounds).await? {
                    Retry::Taken(lease) => lease,
                    Retry::Refused(refusal) => return Ok(Attempt::Refused(refusal)),
                    Retry::NotNow => return Ok(Attempt::Accepted(Accepted::Answered(Err(in_progress(&call))))),
                },
            },
        };
        Ok(Attempt::Accepted(Accepted::Running(start(&gateway, lease, call, caller, place, opening))))
    });
    task.await.map_err(ApiError::internal)?
}

/// Starts the call. It keeps its place until it ends.
fn start(
    gateway: &Gateway,
    lease: Lease,
    call: Call,
    caller: Caller,
    place: Arc<Place>,
    opening: ToOpen,
) -> watch::Receiver<Stage> {
    let session_key = caller.session_key;
    let stages = gateway.engine.start(lease, call, caller, opening);
    keep_place(gateway, session_key, place, stages.clone());
    stages
}

/// Keeps the place of a call until it ends. A call that came to nothing counts as refused for `key`.
pub(super) fn keep_place(gateway: &Gateway, key: Pubkey, place: Arc<Place>, mut watched: watch::Receiver<Stage>) {
    let gateway = gateway.clone();
    tokio::spawn(async move {
        // After an error the task has ended, so the place is free.
        let ended = watched.wait_for(|stage| matches!(stage, Stage::Ended(..))).await.map(|stage| stage.clone());
        if let Ok(Stage::Ended(ended, _)) = ended
            && came_to_nothing(&ended)
        {
            gateway.engine.refused.count(&key);
        }
        drop(place);
    });
}

/// Answers an asynchronous call when its escrow is confirmed.
async fn follow_to_opening(
    gateway: &Gateway,
    call: &Call,
    mut stages: watch::Receiver<Stage>,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let stage = stages.wait_for(|stage| !matches!(stage, Stage::Opening)).await.map(|stage| stage.clone());
    match stage {
        Ok(Stage::Ended(ended, of_call))
            if matches!(*ended, Ended::NotOpened(_) | Ended::NeverOpened(_) | Ended::OpeningUnknown) =>
        {
            spent.add(of_call);
            answer::ended(call, &ended, &gateway.engine.config.links)
        }
        Ok(Stage::Open(of_call) | Stage::Ended(_, of_call)) => {
            spent.add(of_call);
            Ok(answer::pending(call.execution_id))
        }
        Ok(Stage::Opening) => Err(answer::interrupted(call.execution_id)),
        Err(_) => Err(answer::interrupted(call.execution_id)),
    }
}

pub(super) async fn follow(
    gateway: &Gateway,
    call: &Call,
    mut stages: watch::Receiver<Stage>,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let stage = stages.wait_for(|stage| matches!(stage, Stage::Ended(..))).await.map(|stage| stage.clone());
    match stage {
        Ok(Stage::Ended(ended, of_call)) => {
            spent.add(of_call);
            if came_to_nothing(&ended) {
                tokio::time::sleep(gateway.engine.refused.pause(payer_of(call))).await;
            }
            answer::ended(call, &ended, &gateway.engine.config.links)
        }
        _ => Err(answer::interrupted(call.execution_id)),
    }
}

/// Returns whether the call counts as refused: it failed, or it was never opened for a reason of its own.
const fn came_to_nothing(ended: &Ended) -> bool {
    matches!(ended, Ended::Failed(_) | Ended::NeverOpened(_))
}

/// Formats the milliseconds of `gateway`, `creator` and `chain`; their sum is the time of the call.
pub(super) fn server_timing(total: Duration, spent: TimeSpent) -> HeaderValue {
    let gateway = total.saturating_sub(spent.chain).saturating_sub(spent.creator);
    let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
    let text = format!(
        "gateway;dur={:.3}, creator;dur={:.3}, chain;dur={:.3}",
        ms(gateway),
        ms(spent.creator),
        ms(spent.chain)
    );
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}
