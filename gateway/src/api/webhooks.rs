//! `/v1/webhooks`: where the wallet that signed in wants its events.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use chrono::{SubsecRound, TimeDelta, Utc};
use crtx_http::{ApiError, ApiJson, ApiPath, ApiQuery, ErrorBody, ErrorCode, FromQuery, QueryParams, SignedIn};
use crtx_protocol::webhook::WebhookSecret;
use crtx_store::{
    events,
    reads::Timestamp,
    webhooks::{self, Delivery, EventTypeName, MOST_PER_WALLET, NewWebhook, Replay, Webhook, WebhookChange},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use solana_pubkey::Pubkey;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::sign_in::unstored;
use crate::gateway::Gateway;

/// Largest body of these endpoints.
const MAX_BODY_BYTES: usize = 8 * 1024;
const MAX_URL_CHARS: usize = 1_000;
const MAX_AGENTS: usize = 20;
/// How long the old secret still signs after another one took its place.
const OVERLAP: TimeDelta = TimeDelta::hours(24);
/// Numbers of the log that one replay looks at.
const LONGEST_REPLAY: u64 = 100_000;
const MOST_PER_PAGE: u64 = 100;

/// Body of `POST /v1/webhooks`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhookBody {
    /// Where events are sent: `https`, on a public address.
    #[schema(max_length = 1000)]
    url: String,
    /// Types of events, such as `execution.completed`. Empty: all.
    #[serde(default)]
    #[schema(max_items = 22, value_type = Vec<EventTypeName>)]
    types: Vec<String>,
    /// Only events about these agents. Empty: all events.
    #[serde(default)]
    #[schema(max_items = 20)]
    agents: Vec<String>,
}

/// Body of `PATCH /v1/webhooks/{webhook_id}`. What is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeWebhookBody {
    #[serde(default)]
    #[schema(max_length = 1000)]
    url: Option<String>,
    #[serde(default)]
    #[schema(max_items = 22, value_type = Option<Vec<EventTypeName>>)]
    types: Option<Vec<String>>,
    #[serde(default)]
    #[schema(max_items = 20)]
    agents: Option<Vec<String>>,
    /// true: sending goes on, and what is not acknowledged is sent at once. false: it stops, and events wait.
    #[serde(default)]
    enabled: Option<bool>,
}

/// Body of `POST /v1/webhooks/{webhook_id}/replay`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayBody {
    /// Number of the first event.
    #[schema(minimum = 1)]
    from: u64,
    /// Number of the last one, at most 99999 more.
    through: u64,
    /// Only these types. Empty: all that the webhook has.
    #[serde(default)]
    #[schema(max_items = 22, value_type = Vec<EventTypeName>)]
    types: Vec<String>,
    /// false: only say how many events match.
    #[serde(default)]
    start: bool,
}

/// A new webhook.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedWebhookAnswer {
    #[serde(flatten)]
    webhook: Webhook,
    /// `whsec_…`, with which `v1` is signed. It is shown once.
    secret: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookListAnswer {
    /// Oldest first, at most 10.
    webhooks: Vec<Webhook>,
}

/// A new secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct RotatedSecretAnswer {
    /// `whsec_…`. It is shown once.
    secret: String,
    /// Until then the secret before it signs as well.
    old_secret_until: Timestamp,
}

/// What a target answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookTestAnswer {
    acknowledged: bool,
    /// HTTP status. null: there was no answer.
    #[schema(required)]
    status: Option<u16>,
    duration_ms: u64,
    /// The first 1024 bytes of the answer on one line, or what went wrong.
    answer: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayAnswer {
    /// How many events match.
    events: u64,
    /// Whether they are sent.
    started: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryListAnswer {
    /// Newest event first.
    deliveries: Vec<Delivery>,
}

#[derive(Clone, Copy, Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// Only events with a smaller number. Without it, the newest.
    #[param(minimum = 1)]
    before: Option<u64>,
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<u32>,
}

impl FromQuery for DeliveryQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let limit = params.integer("limit", 1, MOST_PER_PAGE)?.map(u32::try_from).transpose();
        let before = params.integer("before", 1, i64::MAX.unsigned_abs())?;
        Ok(Self { before, limit: limit.map_err(ApiError::internal)? })
    }
}

/// Creates a webhook. It gets the events from now on.
#[utoipa::path(
    post,
    path = "/v1/webhooks",
    operation_id = "create_webhook",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    request_body = CreateWebhookBody,
    responses(
        (status = 201, description = "The webhook, with its secret", body = CreatedWebhookAnswer),
        (status = 400, description = "`invalid_request`: a field, or a URL that this service does not call", body = ErrorBody),
        (status = 409, description = "`conflict`: the wallet has 10 webhooks", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn create(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiJson(body): ApiJson<CreateWebhookBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    check_types(&body.types)?;
    check_agents(&body.agents)?;
    check_url(&gateway, &body.url).await?;
    let (webhook_id, secret) = (Uuid::new_v4(), WebhookSecret::generate().map_err(ApiError::internal)?);
    let sealed = gateway.webhooks.seals.seal(webhook_id, &body.url, &secret, None).ok_or_else(unsealed)?;
    let new = NewWebhook {
        webhook_id,
        wallet: owner.wallet,
        url: &body.url,
        types: &body.types,
        agents: &body.agents,
        secret: &sealed.secret,
        sealed_by: &sealed.sealed_by,
    };
    if !webhooks::create(gateway.pool(), &new).await? {
        let problem = format!("the wallet has {MOST_PER_WALLET} webhooks; delete one first");
        return Err(ApiError::new(ErrorCode::Conflict, problem));
    }
    let webhook = shown(&gateway, &owner, webhook_id).await?;
    Ok((StatusCode::CREATED, unstored(CreatedWebhookAnswer { webhook, secret: secret.reveal() })).into_response())
}

/// The webhooks of the wallet.
#[utoipa::path(
    get,
    path = "/v1/webhooks",
    operation_id = "list_webhooks",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "All of them", body = WebhookListAnswer),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn list(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    Ok(unstored(WebhookListAnswer { webhooks: webhooks::list(gateway.pool(), &owner.wallet, None).await? }))
}

/// Changes, enables or disables a webhook.
#[utoipa::path(
    patch,
    path = "/v1/webhooks/{webhook_id}",
    operation_id = "change_webhook",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook")),
    request_body = ChangeWebhookBody,
    responses(
        (status = 200, description = "The webhook", body = Webhook),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn change(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiJson(body): ApiJson<ChangeWebhookBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    check_types(body.types.as_deref().unwrap_or_default())?;
    check_agents(body.agents.as_deref().unwrap_or_default())?;
    if let Some(url) = &body.url {
        check_url(&gateway, url).await?;
    }
    let change = WebhookChange {
        url: body.url.as_deref(),
        types: body.types.as_deref(),
        agents: body.agents.as_deref(),
        enabled: body.enabled,
    };
    found(webhooks::change(gateway.pool(), &owner.wallet, webhook_id, &change).await?)?;
    Ok(unstored(shown(&gateway, &owner, webhook_id).await?))
}

/// Deletes a webhook and its log.
#[utoipa::path(
    delete,
    path = "/v1/webhooks/{webhook_id}",
    operation_id = "delete_webhook",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn delete(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<StatusCode, ApiError> {
    admit(&gateway, &owner)?;
    found(webhooks::delete(gateway.pool(), &owner.wallet, webhook_id).await?)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends an event of the type `webhook.test`, which is not in the log, and waits for the answer.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{webhook_id}/test",
    operation_id = "test_webhook",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook")),
    responses(
        (status = 200, description = "What the target answered", body = WebhookTestAnswer),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database, or too many tests at the same time; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn test(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    admit_costly(&gateway, &owner)?;
    let hooks = &gateway.webhooks;
    let sealed = webhooks::sealed(gateway.pool(), &owner.wallet, webhook_id).await?.ok_or_else(not_found)?;
    let _place = hooks.tests_at_once.try_acquire().map_err(ApiError::unavailable)?;
    let id = Uuid::new_v4();
    let body = json!({
        "id": id, "type": "webhook.test", "wallet": owner.wallet.to_string(), "at": Timestamp(Utc::now().trunc_subsecs(6)),
        "data": {"webhook_id": webhook_id},
    });
    let body = serde_json::to_vec(&body).map_err(ApiError::internal)?;
    let sent = hooks.send(&sealed.url, &hooks.seals.open(&sealed), &id, body).await;
    let acknowledged = sent.is_acknowledged();
    let duration_ms = u64::try_from(sent.attempt.duration.as_millis()).map_err(ApiError::internal)?;
    Ok(unstored(WebhookTestAnswer {
        acknowledged,
        status: sent.attempt.status,
        duration_ms,
        answer: sent.attempt.answer,
    }))
}

/// Puts a new secret in the place of the old one, which signs as well for 24 hours.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{webhook_id}/rotate",
    operation_id = "rotate_webhook_secret",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook")),
    responses(
        (status = 200, description = "The new secret", body = RotatedSecretAnswer),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 409, description = "`conflict`: the secret was changed at the same time", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn rotate(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    let seals = &gateway.webhooks.seals;
    let before = webhooks::sealed(gateway.pool(), &owner.wallet, webhook_id).await?.ok_or_else(not_found)?;
    let secret = WebhookSecret::generate().map_err(ApiError::internal)?;
    let after = seals.seal(webhook_id, &before.url, &secret, seals.open(&before).first()).ok_or_else(unsealed)?;
    if !webhooks::reseal(gateway.pool(), &before, &after, Some(OVERLAP)).await? {
        return Err(ApiError::new(ErrorCode::Conflict, "the secret was changed at the same time; try again"));
    }
    let until = Utc::now().checked_add_signed(OVERLAP).ok_or_else(|| ApiError::internal("no such time"))?;
    Ok(unstored(RotatedSecretAnswer { secret: secret.reveal(), old_secret_until: Timestamp(until.trunc_subsecs(0)) }))
}

/// The log of deliveries: one line for each event, with its last attempt. It keeps what was acknowledged of the last 10 000
/// events, and what was not as long as the log of events does.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{webhook_id}/deliveries",
    operation_id = "list_webhook_deliveries",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook"), DeliveryQuery),
    responses(
        (status = 200, description = "A page of the log", body = DeliveryListAnswer),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn deliveries(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiQuery(query): ApiQuery<DeliveryQuery>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    shown(&gateway, &owner, webhook_id).await?;
    let (before, limit) = (query.before.unwrap_or(i64::MAX.unsigned_abs()), query.limit.unwrap_or(20));
    let deliveries = webhooks::deliveries(gateway.pool(), &owner.wallet, webhook_id, before, limit).await?;
    Ok(unstored(DeliveryListAnswer { deliveries }))
}

/// Says how many events match, and with `start` sends them once more, with the same ids and bytes. The webhook shows how far
/// it is.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{webhook_id}/replay",
    operation_id = "replay_webhook",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook")),
    request_body = ReplayBody,
    responses(
        (status = 200, description = "How many events match", body = ReplayAnswer),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 409, description = "`conflict`: its last replay is not over", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn replay(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiJson(body): ApiJson<ReplayBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    admit_costly(&gateway, &owner)?;
    check_types(&body.types)?;
    let ReplayBody { from, through, types, start } = body;
    let most = from.saturating_add(LONGEST_REPLAY).min(i64::MAX.unsigned_abs());
    if from == 0 || through < from || through >= most {
        let problem = format!("must be `from` or more, and less than `from` + {LONGEST_REPLAY}; `from` is at least 1");
        return Err(ApiError::invalid("through", problem));
    }
    let events = webhooks::count_replay(gateway.pool(), &owner.wallet, webhook_id, (from, through), &types).await?;
    let events = events.ok_or_else(not_found)?;
    if start {
        let replay = Replay { from, through, types, events, taken: 0, waiting: 0 };
        if !webhooks::start_replay(gateway.pool(), &owner.wallet, webhook_id, &replay).await? {
            return Err(ApiError::new(
                ErrorCode::Conflict,
                "the last replay of this webhook is not over; cancel it first",
            ));
        }
    }
    Ok(unstored(ReplayAnswer { events, started: start }))
}

/// Ends the replay: what it has not sent is not sent.
#[utoipa::path(
    delete,
    path = "/v1/webhooks/{webhook_id}/replay",
    operation_id = "cancel_webhook_replay",
    tag = "webhooks",
    security(("session" = []), ("session_cookie" = [])),
    params(("webhook_id" = Uuid, Path, description = "The webhook")),
    responses(
        (status = 204, description = "Ended, now or earlier"),
        (status = 404, description = "`not_found`: this wallet has no such webhook", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn cancel_replay(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(webhook_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<StatusCode, ApiError> {
    admit(&gateway, &owner)?;
    found(webhooks::cancel_replay(gateway.pool(), &owner.wallet, webhook_id).await?)?;
    Ok(StatusCode::NO_CONTENT)
}

fn admit(gateway: &Gateway, owner: &SignedIn) -> Result<(), ApiError> {
    gateway.webhooks.requests.take(owner.wallet, "requests about the webhooks of this wallet")
}

fn admit_costly(gateway: &Gateway, owner: &SignedIn) -> Result<(), ApiError> {
    gateway.webhooks.tests.take(owner.wallet, "tests and replays of this wallet")
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "this wallet has no such webhook")
}

fn found(found: bool) -> Result<(), ApiError> {
    if found { Ok(()) } else { Err(not_found()) }
}

fn unsealed() -> ApiError {
    ApiError::internal("a secret could not be encrypted")
}

async fn shown(gateway: &Gateway, owner: &SignedIn, webhook_id: Uuid) -> Result<Webhook, ApiError> {
    webhooks::list(gateway.pool(), &owner.wallet, Some(webhook_id)).await?.pop().ok_or_else(not_found)
}

async fn check_url(gateway: &Gateway, url: &str) -> Result<(), ApiError> {
    if url.chars().count() > MAX_URL_CHARS || url.contains('\0') {
        return Err(ApiError::invalid("url", format!("must have at most {MAX_URL_CHARS} characters")));
    }
    let reached = gateway.webhooks.outbound.check_reachable(url).await;
    reached.map(|_| ()).map_err(|error| ApiError::invalid("url", format!("is not called: {error}")))
}

fn check_types(types: &[String]) -> Result<(), ApiError> {
    if !events::are_types(types) {
        return Err(ApiError::invalid("types", format!("must be some of {}", events::TYPES.join(", "))));
    }
    Ok(())
}

fn check_agents(agents: &[String]) -> Result<(), ApiError> {
    if agents.len() > MAX_AGENTS || agents.iter().any(|agent| agent.parse::<Pubkey>().is_err()) {
        return Err(ApiError::invalid("agents", format!("must be at most {MAX_AGENTS} addresses of agents in Base58")));
    }
    Ok(())
}
