//! `POST /v1/agents/{agent_id}/execute`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_marketplace::state::AgentListed;
use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use crtx_http::{
    ApiError, ApiPath, ApiQuery, BodyOwner, Caller, ErrorBody, ErrorCode, Peer,
    auth::ApiKeyHeader,
    body::{BodyReader, SMALL_BODY_BYTES},
    extract::check_content_type,
};
use crtx_protocol::execution_id;
use crtx_store::{
    admission::{Bounds, ReadAt, Refusal, Reservation, Retry},
    executions::{Call, State as ExecutionState, StoredExecution},
};
use solana_pubkey::Pubkey;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;
use uuid::Uuid;

use super::answer;
use crate::{
    admission::{
        self, Patience,
        gate::CallPermit,
        turns::{Turn, TurnSubject},
    },
    engine::{Agreed, Engine, Stage, TimeSpent, ToOpen, payer_of},
    gateway::Gateway,
    request::{self, ExecuteBody, ReceivedCall},
    terms::CallTerms,
};

/// Largest body of a call.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// As how many short calls a long one counts: reading and checking it takes many times as long.
const CALLS_IN_A_LONG_BODY: u32 = 16;
/// What was read before a body is read again after this time, because the body may arrive slowly.
const FRESH: Duration = Duration::from_millis(500);

/// Outcome of one attempt to admit a call.
pub(super) enum Attempt {
    /// The call runs; the receiver shows its progress.
    Running(watch::Receiver<Stage>),
    /// An earlier call with the same record has this answer.
    Answered(Result<Response, ApiError>),
    Refused(Refusal),
}

impl Attempt {
    /// The answer to the call: of a running one when it has ended, or with `async` when its escrow is confirmed.
    pub async fn answer(self, gateway: &Gateway, call: &Call, spent: &mut TimeSpent) -> Result<Response, ApiError> {
        match self {
            Self::Running(stages) => follow(gateway, call, stages, spent).await,
            Self::Answered(answer) => answer,
            Self::Refused(refusal) => Err(admission::over_limit(&gateway.engine.config.limits.calls, &refusal)),
        }
    }
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
        (status = 402, description = "`insufficient_balance`: less than the price is available after the calls in progress", body = ErrorBody),
        (status = 403, description = "`forbidden`: the key's on-chain grant does not allow it", body = ErrorBody),
        (status = 404, description = "`agent_not_found`", body = ErrorBody),
        (status = 408, description = "`execution_timeout`; refunded. `request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`conflict`: idempotency key in use", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 1 MiB", body = ErrorBody),
        (status = 422, description = "`agent_paused`, or `agent_unpayable`: its creator has no USDC account that can receive money", body = ErrorBody),
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
pub async fn execute(
    State(gateway): State<Gateway>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let mut spent = TimeSpent::default();
    let answer = answer_call(&gateway, &agent_id, request, &mut spent).await;
    timed(answer, started, spent)
}

async fn answer_call(
    gateway: &Gateway,
    agent_id: &str,
    request: Request,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let (caller, agent, idempotency_key, ahead) = read_head(gateway, agent_id, &head).await?;
    let (wallet, key) = (&caller.wallet, &caller.session_key);
    let Engine { gate, refused, .. } = &*gateway.engine;
    let execution_id = match &idempotency_key {
        Some(key) => execution_id::from_idempotency_key(wallet, key),
        None => execution_id::random(),
    };
    let record = gateway.engine.instructions.addresses.execution(wallet, execution_id.as_bytes());
    // Only a call with an idempotency key can be a repetition.
    let repeated = idempotency_key.is_some().then_some((wallet, &execution_id));
    let mut earlier = Earlier::find(gateway, repeated, false).await?;
    let terms_before = if earlier.execution.as_ref().is_some_and(|execution| !may_be_tried_again(execution)) {
        // The call gets the answer of the earlier one, whatever its wallet holds by now.
        None
    } else {
        let allowed = spent.on_chain(ahead).await.map_err(ApiError::internal)?;
        Some(refused.slow(key, 1, allowed).await?)
    };
    let dear = calls_in(&body);
    let received = receive(gateway, wallet, &agent, &head, body).await;
    let (received, large_place) = refused.slow(key, dear, received).await?;
    if !earlier.is_fresh() {
        earlier = Earlier::find(gateway, repeated, false).await?;
    }
    if let Some(execution) = &earlier.execution
        && let Some(answer) = recall(gateway, execution, &received.body_hash).await
    {
        return answer;
    }
    let permit = Arc::new(gate.enter(wallet, &agent).await?);
    let call = received.into_call(record, execution_id, *wallet, agent);
    let mut call = Call { session_key: Some(*key), idempotency_key, ..call };
    let prepared = prepare(gateway, &caller, &mut call, terms_before, spent).await;
    drop(large_place);
    let terms = refused.slow(key, dear, prepared).await?;
    let attempt = accept(gateway, &caller, &mut call, terms, &permit, spent).await?;
    attempt.answer(gateway, &call, spent).await
}

/// The chain is read while the database is asked about the call.
type Ahead = AbortOnDropHandle<Result<CallTerms, ApiError>>;

fn read_ahead(gateway: &Gateway, wallet: Pubkey, key: Pubkey, agent: Pubkey) -> Ahead {
    let gateway = gateway.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        // Reads of the chain are limited by permits, but nobody keeps a permit while the body arrives.
        let _place = gateway.engine.gate.enter(&wallet, &agent).await?;
        allow(&gateway, &wallet, &key, &agent).await
    }))
}

/// Reads who calls which agent, and the idempotency key, and begins to read the chain.
async fn read_head(
    gateway: &Gateway,
    agent_id: &str,
    head: &Parts,
) -> Result<(Caller, Pubkey, Option<String>, Ahead), ApiError> {
    let Engine { refused, wallets, .. } = &*gateway.engine;
    let presented = ApiKeyHeader::read(head, gateway)?;
    let key = *presented.session_key();
    refused.check(&key)?;
    let agent = agent_id.parse::<Pubkey>().map_err(|_| ApiError::agent_not_found(agent_id));
    let ahead = match (&agent, wallets.get(&key)) {
        (Ok(agent), Some(wallet)) => Some((wallet, read_ahead(gateway, wallet, key, *agent))),
        _ => None,
    };
    let caller = presented.authenticate(gateway).await?;
    wallets.insert(key, caller.wallet);
    BodyOwner::note(&head.extensions, &caller.wallet);
    let read = agent.and_then(|agent| {
        check_content_type(&head.headers)?;
        Ok((agent, request::idempotency_key(&head.headers)?))
    });
    let (agent, idempotency_key) = refused.slow(&key, 1, read).await?;
    let ahead = match ahead {
        Some((wallet, ahead)) if wallet == caller.wallet => ahead,
        _ => read_ahead(gateway, caller.wallet, key, agent),
    };
    Ok((caller, agent, idempotency_key, ahead))
}

/// What this service knows of an execution before the call.
pub(super) struct Earlier {
    pub execution: Option<StoredExecution>,
    read_at: Instant,
}

impl Earlier {
    /// `call`: wallet and execution id; `None`: there cannot be one.
    pub async fn find(gateway: &Gateway, call: Option<(&Pubkey, &Uuid)>, handed_over: bool) -> Result<Self, ApiError> {
        let read_at = Instant::now();
        let execution = match call {
            Some((wallet, id)) => gateway.engine.executions.last(wallet, id, handed_over).await?,
            None => None,
        };
        Ok(Self { execution, read_at })
    }

    pub fn is_fresh(&self) -> bool {
        self.read_at.elapsed() <= FRESH
    }
}

/// Reads the body of a call of this wallet. A long one has a turn.
pub(super) async fn receive(
    gateway: &Gateway,
    wallet: &Pubkey,
    agent: &Pubkey,
    head: &Parts,
    body: Body,
) -> Result<(ReceivedCall, Option<Turn>), ApiError> {
    let mut reader = BodyReader::new(body, MAX_BODY_BYTES)?;
    let permit = if reader.is_longer_than(SMALL_BODY_BYTES).await? {
        let address = head.extensions.get::<Peer>().map(|Peer(address)| *address);
        Some(gateway.engine.large.take(vec![TurnSubject::Wallet(*wallet), TurnSubject::Address(address)]).await?)
    } else {
        None
    };
    let (bytes, agent) = (reader.rest().await?, *agent);
    let received = crtx_http::body::parsed(bytes, move |bytes| ReceivedCall::parse(&agent, bytes)).await?;
    Ok((received, permit))
}

/// As how many short calls a request counts if it is refused after its body. One without a length counts as a long one.
pub(super) fn calls_in(body: &Body) -> u32 {
    let is_short =
        body.size_hint().exact().is_some_and(|bytes| usize::try_from(bytes).is_ok_and(|it| it <= SMALL_BODY_BYTES));
    if is_short { 1 } else { CALLS_IN_A_LONG_BODY }
}

/// The answer of an earlier call with the same idempotency key. `None`: nothing was paid, and the call is tried again.
async fn recall(
    gateway: &Gateway,
    execution: &StoredExecution,
    body_hash: &[u8; 32],
) -> Option<Result<Response, ApiError>> {
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
fn may_be_tried_again(execution: &StoredExecution) -> bool {
    let is_unpaid = execution.opened_at.is_none();
    is_unpaid && matches!(execution.state, ExecutionState::Failed | ExecutionState::Reserved)
}

fn in_progress(call: &Call) -> ApiError {
    ApiError::new(ErrorCode::Conflict, "a call with this Idempotency-Key is still in progress")
        .with_execution(call.execution_id)
        .with_retry_after(Duration::from_secs(1))
}

/// Makes the checks that need no body: terms, and whether the agent's document is there.
async fn allow(gateway: &Gateway, wallet: &Pubkey, key: &Pubkey, agent: &Pubkey) -> Result<CallTerms, ApiError> {
    let terms = gateway.engine.terms(wallet, key, agent).await?;
    gateway.engine.documents.get(agent, &terms.listing.metadata_hash).await?;
    Ok(terms)
}

/// Gives the call its terms, which are read again if they are not fresh, and makes every other check that can refuse it
/// before money moves.
async fn prepare(
    gateway: &Gateway,
    caller: &Caller,
    call: &mut Call,
    terms_before: Option<CallTerms>,
    spent: &mut TimeSpent,
) -> Result<CallTerms, ApiError> {
    let terms = match terms_before.filter(|terms| terms.read_at.elapsed() <= FRESH) {
        Some(terms) => terms,
        None => spent.on_chain(allow(gateway, &caller.wallet, &caller.session_key, &call.agent)).await?,
    };
    (call.amount, call.timeout_seconds) = (terms.price, terms.listing.timeout_seconds);
    check_by_document(gateway, call, &terms.listing).await?;
    Ok(terms)
}

/// Checks the call against the agent's document, and takes the endpoint from it.
pub(super) async fn check_by_document(
    gateway: &Gateway,
    call: &mut Call,
    listing: &AgentListed,
) -> Result<(), ApiError> {
    let document = gateway.engine.documents.get(&call.agent, &listing.metadata_hash).await?;
    document.check(&mut call.request.parameters).await?;
    document.check_reachable().await?;
    call.endpoint.clone_from(&document.endpoint);
    Ok(())
}

/// Admits and starts the call, or returns the answer of the earlier call with the same idempotency key.
///
/// If the call lacks only money that other calls have reserved, the chain is read again for a short time: money that was
/// taken before the first read is counted twice.
async fn accept(
    gateway: &Gateway,
    caller: &Caller,
    call: &mut Call,
    mut terms: CallTerms,
    permit: &Arc<CallPermit>,
    spent: &mut TimeSpent,
) -> Result<Attempt, ApiError> {
    let engine = &gateway.engine;
    let limits = engine.config.limits;
    let mut patience = Patience::new(limits.funds_patience);
    let mut bounds = admission::bounds(&terms, ReadAt::Local(terms.read_at), limits.calls);
    // Most calls are admitted at the first attempt, so the opening is prepared at the same time.
    let mut opening = ToOpen::prepare(engine, call, caller, Agreed::with(&terms));
    loop {
        let shortage = match attempt(gateway, call, bounds, permit, opening).await? {
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
        opening = ToOpen { caller: caller.clone(), agreed: Agreed::with(&terms), prepared: None };
        bounds = admission::bounds(&terms, ReadAt::Database(shortage.as_of), limits.calls);
    }
}

/// Makes one attempt in a task of its own: if the caller disconnects, the call either runs or leaves no reservation.
async fn attempt(
    gateway: &Gateway,
    call: &Call,
    bounds: Bounds,
    permit: &Arc<CallPermit>,
    opening: ToOpen,
) -> Result<Attempt, ApiError> {
    let (gateway, call, permit) = (gateway.clone(), call.clone(), Arc::clone(permit));
    let tasks = gateway.engine.tasks.clone();
    let task = async move {
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
        Ok(Attempt::Running(gateway.engine.start(lease, call, Some(opening), permit)))
    };
    // The request names itself in the lines of the call.
    let task = tasks.spawn(task.in_current_span());
    task.await.map_err(ApiError::internal)?
}

/// Answers a call when it has ended, and an asynchronous one when its escrow is confirmed.
async fn follow(
    gateway: &Gateway,
    call: &Call,
    mut stages: watch::Receiver<Stage>,
    spent: &mut TimeSpent,
) -> Result<Response, ApiError> {
    let has_an_answer = |stage: &Stage| match stage {
        Stage::Opening => false,
        Stage::Open(_) => call.is_async,
        Stage::Ended(..) => true,
    };
    let stage = stages.wait_for(has_an_answer).await.map(|stage| stage.clone());
    let Ok(Stage::Open(of_call) | Stage::Ended(_, of_call)) = stage else {
        return Err(answer::interrupted(call.execution_id));
    };
    spent.add(of_call);
    match stage {
        Ok(Stage::Ended(ended, _)) if !call.is_async || !ended.was_opened() => {
            if ended.came_to_nothing() {
                tokio::time::sleep(gateway.engine.refused.pause(payer_of(call))).await;
            }
            answer::ended(call, &ended, &gateway.engine.config.links)
        }
        _ => Ok(answer::pending(call.execution_id)),
    }
}

/// Adds the milliseconds of `gateway`, `creator` and `chain`; their sum is the time of the call.
pub(super) fn timed(answer: Result<Response, ApiError>, started: Instant, spent: TimeSpent) -> Response {
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    let gateway = started.elapsed().saturating_sub(spent.chain).saturating_sub(spent.creator);
    let [gateway, creator, chain] = [gateway, spent.creator, spent.chain].map(|time| time.as_secs_f64() * 1_000.0);
    let text = format!("gateway;dur={gateway:.3}, creator;dur={creator:.3}, chain;dur={chain:.3}");
    let value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(HeaderName::from_static("server-timing"), value);
    response
}
