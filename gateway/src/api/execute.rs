//! `POST /v1/agents/{agent_id}/execute`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::{Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use crtx_http::{
    ApiError, ApiPath, BodyOwner, Caller, ErrorBody, ErrorCode, Peer,
    auth::Presented,
    body::{Reading, SMALL_BODY_BYTES},
    extract::check_content_type,
};
use crtx_protocol::text::shortened;
use crtx_store::{
    admission::{Bounds, ReadAt, Refusal, Reservation, Retry},
    executions::{Call, Execution, State as ExecutionState},
};
use solana_pubkey::Pubkey;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::answer;
use crate::{
    admission::{self, Patience, gate::CallPlace, large::LargePlace},
    engine::{Ended, Stage, TimeSpent, ToOpen},
    gateway::Gateway,
    request::{self, ExecuteBody, ReceivedCall},
    terms::Terms,
};

/// As how many short calls a long one counts: reading and checking it takes many times as long.
const CALLS_IN_A_LONG_BODY: u32 = 16;
/// What was read before a body is read again after this time, because the body may arrive slowly.
pub(super) const FRESH: Duration = Duration::from_millis(500);
pub(super) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Outcome of one attempt to admit a call.
enum Attempt {
    /// The call runs; the receiver shows its progress.
    Running(watch::Receiver<Stage>),
    /// An earlier call with the same idempotency key has this answer.
    Answered(Result<Response, ApiError>),
    Refused(Refusal),
}

/// Pays an agent for one call and returns its verified result.
///
/// Results are public: anybody who reads the chain finds the address of every result and can download it without a
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
    let presented = Presented::read(&head, gateway)?;
    gateway.engine.refused.check(presented.session_key())?;
    let agent = agent_id.parse::<Pubkey>().map_err(|_| ApiError::agent_not_found(agent_id));
    let key = *presented.session_key();
    let ahead = match (&agent, gateway.engine.wallets.get(&key)) {
        (Ok(agent), Some(wallet)) => Some((wallet, read_ahead(gateway, wallet, key, *agent))),
        _ => None,
    };
    let caller = presented.authenticate(gateway).await?;
    gateway.engine.wallets.insert(key, caller.wallet);
    BodyOwner::note(&head.extensions, &caller.wallet);
    let headers = agent.and_then(|agent| Ok((agent, read_headers(&head.headers)?)));
    let (agent, idempotency_key) = slow_if_refused(gateway, &caller.session_key, headers).await?;
    let ahead = ahead.filter(|(wallet, _)| *wallet == caller.wallet).map(|(_, reading)| reading);
    let ahead = ahead.unwrap_or_else(|| read_ahead(gateway, caller.wallet, key, agent));
    let mut earlier = Earlier::find(gateway, &caller, idempotency_key.as_deref()).await?;
    let terms_before = if earlier.has_an_answer() {
        None
    } else {
        let allowed = spent.on_chain(ahead).await.map_err(ApiError::internal)?;
        Some(slow_if_refused(gateway, &caller.session_key, allowed).await?)
    };
    let dear = calls_in(&body);
    let received = receive(gateway, &caller.wallet, &agent, &head, body).await;
    let (received, large_place) = slow_if_refused_as(dear, gateway, &caller.session_key, received).await?;
    if !earlier.is_fresh() {
        earlier = Earlier::find(gateway, &caller, idempotency_key.as_deref()).await?;
    }
    if let Some(execution) = &earlier.execution
        && let Some(answer) = recall(gateway, execution, &received.body_hash).await
    {
        return answer;
    }
    let place = Arc::new(gateway.engine.gate.enter(&caller.wallet, &agent).await?);
    let prepared = async {
        let terms = match terms_before.filter(|terms| terms.read_at.elapsed() <= FRESH) {
            Some(terms) => terms,
            None => spent.on_chain(allow(gateway, &caller.wallet, &caller.session_key, &agent)).await?,
        };
        let call = prepare(gateway, &caller, &agent, &terms, received, idempotency_key).await?;
        Ok((terms, call, place))
    };
    let prepared = prepared.await;
    drop(large_place);
    let (terms, mut call, place) = slow_if_refused_as(dear, gateway, &caller.session_key, prepared).await?;
    let stages = match accept(gateway, &caller, &mut call, terms, &place, spent).await? {
        Attempt::Running(stages) => stages,
        Attempt::Answered(answer) => return answer,
        Attempt::Refused(refusal) => {
            return Err(admission::over_limit(&gateway.engine.config.limits.calls, &refusal));
        }
    };
    if call.is_async {
        follow_to_opening(gateway, &call, stages, spent).await
    } else {
        follow(gateway, &call, stages, spent).await
    }
}

/// Reads what can be refused before the body is read: 400 or 415.
fn read_headers(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    check_content_type(headers)?;
    request::idempotency_key(headers)
}

/// The earlier use of a call's idempotency key.
struct Earlier {
    execution: Option<Execution>,
    /// `None`: the call has no such key.
    read_at: Option<Instant>,
}

impl Earlier {
    async fn find(gateway: &Gateway, caller: &Caller, key: Option<&str>) -> Result<Self, ApiError> {
        let Some(key) = key else { return Ok(Self { execution: None, read_at: None }) };
        let read_at = Some(Instant::now());
        let id = request::execution_id(&caller.wallet, Some(key));
        let record = gateway.engine.instructions.addresses.execution(&caller.wallet, id.as_bytes());
        Ok(Self { execution: gateway.engine.executions.get(&record).await?, read_at })
    }

    /// Whether the call gets the answer of the earlier one, whatever its wallet holds by now.
    fn has_an_answer(&self) -> bool {
        self.execution.as_ref().is_some_and(|execution| !may_be_tried_again(execution))
    }

    fn is_fresh(&self) -> bool {
        self.read_at.is_none_or(|read_at| read_at.elapsed() <= FRESH)
    }
}

/// Reads the body. Returns 400, 408, 413, 429 or 503 if it is not a valid call, or does not arrive.
async fn receive(
    gateway: &Gateway,
    wallet: &Pubkey,
    agent: &Pubkey,
    head: &Parts,
    body: axum::body::Body,
) -> Result<(ReceivedCall, Option<LargePlace>), ApiError> {
    let (bytes, place) = read(gateway, wallet, head, body).await?;
    let agent = *agent;
    let received = crtx_http::body::parsed(bytes, move |bytes| ReceivedCall::parse(&agent, bytes)).await?;
    Ok((received, place))
}

/// Delays the answers of a key, or of a wallet that signed in, that repeats refused calls.
pub(super) async fn slow_if_refused<T>(
    gateway: &Gateway,
    key: &Pubkey,
    checked: Result<T, ApiError>,
) -> Result<T, ApiError> {
    slow_if_refused_as(1, gateway, key, checked).await
}

/// The same of a request that counts as so many short ones.
pub(super) async fn slow_if_refused_as<T>(
    calls: u32,
    gateway: &Gateway,
    key: &Pubkey,
    checked: Result<T, ApiError>,
) -> Result<T, ApiError> {
    if checked.is_err() {
        let refused = &gateway.engine.refused;
        refused.count_as(key, calls);
        tokio::time::sleep(refused.pause(key)).await;
    }
    checked
}

/// As how many short calls a request counts that is refused after its body was read. Without a length it counts as a long
/// one.
pub(super) fn calls_in(body: &axum::body::Body) -> u32 {
    let is_short =
        body.size_hint().exact().is_some_and(|bytes| usize::try_from(bytes).is_ok_and(|it| it <= SMALL_BODY_BYTES));
    if is_short { 1 } else { CALLS_IN_A_LONG_BODY }
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

/// Reads the body of a call of this wallet. A long one has a place.
pub(super) async fn read(
    gateway: &Gateway,
    wallet: &Pubkey,
    head: &Parts,
    body: axum::body::Body,
) -> Result<(Bytes, Option<LargePlace>), ApiError> {
    let mut reading = Reading::new(body, gateway.engine.config.limits.max_body_bytes)?;
    let place = if reading.is_longer_than(SMALL_BODY_BYTES).await? {
        let address = head.extensions.get::<Peer>().map(|Peer(address)| *address);
        Some(gateway.engine.large.enter(wallet, address).await?)
    } else {
        None
    };
    Ok((reading.rest().await?, place))
}

/// The answer of an earlier call with the same idempotency key. `None`: it ended without an escrow and without cost, and the
/// call is tried again.
async fn recall(gateway: &Gateway, execution: &Execution, body_hash: &[u8; 32]) -> Option<Result<Response, ApiError>> {
    let call = &execution.call;
    if call.body_hash != *body_hash {
        let message = "the Idempotency-Key was used with another agent, task, parameters or mode";
        let error = ApiError::new(ErrorCode::Conflict, message).with_execution(call.execution_id);
        return Some(Err(error));
    }
    match execution.state {
        _ if may_be_tried_again(execution) => None,
        _ if call.is_async && execution.opened_at.is_some() => Some(Ok(answer::pending(call.execution_id))),
        _ => Some(answer::recorded(&gateway.engine, execution).await.unwrap_or_else(|| Err(in_progress(call)))),
    }
}

/// Whether the execution has ended without an escrow and without cost, or has not begun.
fn may_be_tried_again(execution: &Execution) -> bool {
    let is_unpaid = execution.opened_at.is_none();
    is_unpaid && matches!(execution.state, ExecutionState::Failed | ExecutionState::Reserved)
}

fn in_progress(call: &Call) -> ApiError {
    ApiError::new(ErrorCode::Conflict, "a call with this Idempotency-Key is still in progress")
        .with_execution(call.execution_id)
        .with_retry_after(Duration::from_secs(1))
}

/// Begins to read the chain while the database is asked about the call.
fn read_ahead(
    gateway: &Gateway,
    wallet: Pubkey,
    key: Pubkey,
    agent: Pubkey,
) -> AbortOnDropHandle<Result<Terms, ApiError>> {
    let gateway = gateway.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        // Reads of the chain are limited by places, but nobody keeps a place while the body arrives.
        let _place = gateway.engine.gate.enter(&wallet, &agent).await?;
        allow(&gateway, &wallet, &key, &agent).await
    }))
}

/// Makes the checks that need no body: terms, and whether the agent's document is there.
async fn allow(gateway: &Gateway, wallet: &Pubkey, key: &Pubkey, agent: &Pubkey) -> Result<Terms, ApiError> {
    let terms = gateway.engine.terms(wallet, key, agent).await?;
    gateway.engine.documents.get(agent, &terms.listing.metadata_hash).await?;
    Ok(terms)
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
    place: &Arc<CallPlace>,
    spent: &mut TimeSpent,
) -> Result<Attempt, ApiError> {
    let engine = &gateway.engine;
    let limits = engine.config.limits;
    let mut patience = Patience::new(limits.funds_patience);
    let mut bounds = admission::bounds(&terms, ReadAt::Local(terms.read_at), limits.calls);
    // Most calls are admitted at the first attempt, so the opening is prepared at the same time.
    let mut opening = ToOpen::prepare(engine, call, caller, terms.listing.hash_of_terms());
    loop {
        let shortage = match attempt(gateway, call, bounds, place, opening).await? {
            Attempt::Refused(Refusal::Short(shortage)) => shortage,
            decided => return Ok(decided),
        };
        if !patience.another_attempt().await {
            return Err(admission::short(&terms, &shortage));
        }
        let document = terms.listing.metadata_hash;
        terms = spent.on_chain(engine.terms(&caller.wallet, &caller.session_key, &call.agent)).await?;
        if terms.listing.metadata_hash != document {
            let message = "the agent was changed while the call was prepared; nothing was charged, try again";
            return Err(ApiError::new(ErrorCode::Unavailable, message).with_retry_after(Duration::from_secs(1)));
        }
        (call.amount, call.timeout_seconds) = (terms.price, terms.listing.timeout_seconds);
        opening = ToOpen { caller: caller.clone(), terms_hash: terms.listing.hash_of_terms(), prepared: None };
        bounds = admission::bounds(&terms, ReadAt::Database(shortage.as_of), limits.calls);
    }
}

/// Makes one attempt in a task of its own: if the caller disconnects, the call either runs or leaves no reservation.
async fn attempt(
    gateway: &Gateway,
    call: &Call,
    bounds: Bounds,
    place: &Arc<CallPlace>,
    opening: ToOpen,
) -> Result<Attempt, ApiError> {
    let (gateway, call, place) = (gateway.clone(), call.clone(), Arc::clone(place));
    let tasks = gateway.engine.tasks.clone();
    let task = tasks.spawn(async move {
        let executions = &gateway.engine.executions;
        let lease = match executions.reserve(&call, &bounds).await? {
            Reservation::New(lease) => lease,
            Reservation::Refused(refusal) => return Ok(Attempt::Refused(refusal)),
            Reservation::Existing(execution) => match recall(&gateway, &execution, &call.body_hash).await {
                Some(answer) => return Ok(Attempt::Answered(answer)),
                None => match executions.retry(&call, &bounds).await? {
                    Retry::Taken(lease) => lease,
                    Retry::Refused(refusal) => return Ok(Attempt::Refused(refusal)),
                    Retry::NotNow => return Ok(Attempt::Answered(Err(in_progress(&call)))),
                },
            },
        };
        let session_key = opening.caller.session_key;
        let stages = gateway.engine.start(lease, call, Some(opening));
        keep_place(&gateway, session_key, place, stages.clone());
        Ok(Attempt::Running(stages))
    });
    task.await.map_err(ApiError::internal)?
}

/// Keeps the place of a call until it ends. A call that came to nothing counts as refused for `key`.
pub(super) fn keep_place(gateway: &Gateway, key: Pubkey, place: Arc<CallPlace>, mut watched: watch::Receiver<Stage>) {
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
        Ok(Stage::Opening) | Err(_) => Err(answer::interrupted(call.execution_id)),
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
