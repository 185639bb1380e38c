//! `/v1/keys`: the API keys of the wallet that signed in. A key's secret never comes here; it is a pair of a wallet's
//! grant on chain and a session key, and this service keeps a name for it.

use agent_marketplace::state::SpendingGrant;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Datelike, Utc};
use crtx_http::{
    ApiError, ApiJson, ApiPath, ApiQuery, AuthState, ErrorBody, ErrorCode, FromQuery, QueryParams, SignedIn,
    strangers::CredentialName,
};
use crtx_protocol::{
    api_key::{is_last_four, is_name},
    key_proof,
    usdc::UsdcBase,
};
use crtx_store::{
    Json,
    api_keys::{self, GrantLimits, MOST_PER_WALLET, NewApiKey, Registered, ShownKey},
    reads::Timestamp,
};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use utoipa::{IntoParams, ToSchema};

use super::sign_in::unstored;
use crate::{gateway::Gateway, terms::holding_and_approval};

/// Largest body of these endpoints.
const MAX_BODY_BYTES: usize = 4 * 1024;
const MOST_PER_PAGE: u64 = 100;

/// Body of `POST /v1/keys`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterKeyBody {
    /// 1 to 64 visible characters, for its owner.
    #[schema(min_length = 1, max_length = 64, format = "visible-text")]
    name: String,
    /// The session public key that the wallet has granted spending to.
    session_public_key: String,
    /// The session key's signature over the text `crtx-key-v1:<wallet>:<program id>`: `ed25519:` and the base58 form of
    /// 64 bytes.
    proof: String,
    /// The last four characters of the key's text.
    last_four: String,
}

/// Body of `PATCH /v1/keys/{session_public_key}`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameKeyBody {
    /// 1 to 64 visible characters.
    #[schema(min_length = 1, max_length = 64, format = "visible-text")]
    name: String,
}

/// An API key. What its limits are, the grant on chain says.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyAnswer {
    session_public_key: String,
    /// null: nobody named it.
    #[schema(required)]
    name: Option<String>,
    /// `crtx_live_` or `crtx_test_`: how the key's text begins.
    prefix: &'static str,
    /// How the key's text ends. null: it was not registered.
    #[schema(required)]
    last_four: Option<String>,
    state: KeyState,
    /// Address of the `SpendingGrant` on chain.
    grant: String,
    created_at: Timestamp,
    /// Correct to ten seconds. null before the first use.
    #[schema(required)]
    last_used_at: Option<Timestamp>,
    /// Executions that were opened and have ended.
    execution_count: u64,
    /// What its completed executions cost.
    #[schema(value_type = f64)]
    total_spent_usdc: UsdcBase,
    /// Most that one call may cost. null: no limit, or `pending`.
    #[schema(required, value_type = Option<f64>)]
    per_call_cap_usdc: Option<UsdcBase>,
    /// Most that all calls together may cost. null: no limit, or `pending`.
    #[schema(required, value_type = Option<f64>)]
    total_cap_usdc: Option<UsdcBase>,
    /// What counts against `total_cap_usdc` on chain: a call counts from its opening until it is refunded. null:
    /// `pending`.
    #[schema(required, value_type = Option<f64>)]
    spent_of_cap_usdc: Option<UsdcBase>,
    /// What the key may still spend: what is left of `total_cap_usdc`; 0 if it is `revoked` or `expired`. null: no limit,
    /// or `pending`.
    #[schema(required, value_type = Option<f64>)]
    left_usdc: Option<UsdcBase>,
    /// Most that the calls of one UTC day may cost. null: no limit, or `pending`.
    #[schema(required, value_type = Option<f64>)]
    daily_cap_usdc: Option<UsdcBase>,
    /// What counts against a cap of this UTC day. null: `pending`.
    #[schema(required, value_type = Option<f64>)]
    spent_today_usdc: Option<UsdcBase>,
    /// How many calls at `per_call_cap_usdc` the wallet's token approval still lets all its keys make. A refund gives the
    /// key's caps their room back, but not the approval. null: no cap per call, or the answer is not the list.
    #[schema(required)]
    calls_left_by_approval: Option<u64>,
    /// null: never, or `pending`.
    #[schema(required)]
    expires_at: Option<Timestamp>,
    /// The agents that it may call. Empty: any agent.
    allowed_agents: Vec<String>,
}

/// `active`. `revoked`: by this service or on chain, permanently. `expired`, `exhausted`: until its wallet raises the limits
/// on chain. `unregistered`: the grant is on chain, and the key is refused until it is registered. `pending`: the index does
/// not show the grant yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    Active,
    Pending,
    Unregistered,
    Expired,
    Exhausted,
    Revoked,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct KeyListAnswer {
    /// Newest first; among them grants on chain that nobody registered.
    keys: Vec<KeyAnswer>,
    /// Keys on all pages.
    total: u64,
    limit: u32,
    offset: u64,
    approval: ApprovalAnswer,
}

/// All keys of a wallet spend from one token approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalAnswer {
    /// What the wallet lets its keys move: the approval of its spender address.
    #[schema(value_type = f64)]
    approved_usdc: UsdcBase,
    /// What all keys that are neither revoked nor expired may still spend together. null: one of them has no limit.
    #[schema(required, value_type = Option<f64>)]
    needed_usdc: Option<UsdcBase>,
    /// What the wallet holds.
    #[schema(value_type = f64)]
    holding_usdc: UsdcBase,
    /// How much `approved_usdc` is below `needed_usdc`. null: one of the keys has no limit.
    #[schema(required, value_type = Option<f64>)]
    short_usdc: Option<UsdcBase>,
}

#[derive(Clone, Copy, Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KeyListQuery {
    /// Keys per page.
    #[param(minimum = 1, maximum = 100, default = 100)]
    limit: Option<u32>,
    /// Keys to skip.
    #[param(minimum = 0, default = 0)]
    offset: Option<u64>,
}

impl FromQuery for KeyListQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let limit = params.integer("limit", 1, MOST_PER_PAGE)?.map(u32::try_from).transpose();
        let offset = params.integer("offset", 0, i64::MAX.unsigned_abs())?;
        Ok(Self { limit: limit.map_err(ApiError::internal)?, offset })
    }
}

impl KeyAnswer {
    fn new(gateway: &Gateway, key: ShownKey, now_unix_s: i64) -> Self {
        let state = KeyState::of(&key, now_unix_s);
        let limits = key.limits.as_deref();
        let expires_at = limits.and_then(|limits| DateTime::from_timestamp(limits.expires_at_unix_s, 0));
        Self {
            session_public_key: key.session_public_key.to_string(),
            prefix: gateway.network().prefix(),
            state,
            grant: key.grant.to_string(),
            created_at: Timestamp(key.created_at),
            last_used_at: key.last_used_at.map(Timestamp),
            execution_count: key.execution_count,
            total_spent_usdc: key.spent,
            per_call_cap_usdc: limits.and_then(|limits| limits.per_call_cap),
            total_cap_usdc: limits.and_then(|limits| limits.total_cap),
            spent_of_cap_usdc: limits.map(|limits| limits.spent),
            left_usdc: match state {
                KeyState::Revoked | KeyState::Expired => Some(UsdcBase(0)),
                _ => limits.and_then(GrantLimits::left),
            },
            daily_cap_usdc: limits.and_then(|limits| limits.daily_cap),
            spent_today_usdc: limits.map(|limits| limits.spent_at(now_unix_s)),
            calls_left_by_approval: None,
            // Times with five digits in the year are not ISO 8601's plain form.
            expires_at: expires_at.filter(|time| time.year() < 10_000).map(Timestamp),
            allowed_agents: limits.map_or_else(Vec::new, |limits| limits.allowed_agents.clone()),
            name: key.name,
            last_four: key.last_four,
        }
    }
}

impl KeyAnswer {
    fn with(self, approval: &ApprovalAnswer) -> Self {
        let calls = self.per_call_cap_usdc.and_then(|cap| approval.approved_usdc.0.checked_div(cap.0));
        Self { calls_left_by_approval: calls, ..self }
    }
}

impl KeyState {
    fn of(key: &ShownKey, now_unix_s: i64) -> Self {
        match key.limits.as_deref() {
            _ if key.revoked => Self::Revoked,
            None => Self::Pending,
            Some(limits) if limits.revoked => Self::Revoked,
            Some(limits) if limits.expires_at_unix_s < now_unix_s => Self::Expired,
            Some(limits) if limits.left() == Some(UsdcBase(0)) => Self::Exhausted,
            Some(_) if !key.proven => Self::Unregistered,
            Some(_) => Self::Active,
        }
    }
}

/// Registers an API key under a name. A repeated request has the same answer.
#[utoipa::path(
    post,
    path = "/v1/keys",
    operation_id = "register_key",
    tag = "keys",
    security(("session" = []), ("session_cookie" = [])),
    request_body = RegisterKeyBody,
    responses(
        (status = 201, description = "The key", body = KeyAnswer),
        (status = 400, description = "`invalid_request`: a field is malformed, or the proof is not the session key's", body = ErrorBody),
        (status = 404, description = "`not_found`: this wallet has granted nothing to that session key on chain", body = ErrorBody),
        (status = 409, description = "`conflict`: registered under another name or for another wallet, revoked, or the wallet has 100 keys", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 4 KiB", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no chain or no database; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn register(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiJson(body): ApiJson<RegisterKeyBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    check_name(&body.name)?;
    let session_public_key = public_key(&body.session_public_key, "must be a public key in Base58")?;
    if !is_last_four(&body.last_four) {
        return Err(ApiError::invalid("last_four", "must be the last four characters of the key's text"));
    }
    let program = gateway.engine.config.addresses.program_id();
    if !key_proof::verify(&session_public_key, &owner.wallet, &program, &body.proof) {
        let text = key_proof::text(&owner.wallet, &program);
        return Err(ApiError::invalid("proof", format!("must be the session key's signature over the text `{text}`")));
    }
    let address = gateway.engine.config.addresses.grant(&owner.wallet, &session_public_key);
    let grant = grant_on_chain(&gateway, &address).await?.ok_or_else(no_grant)?;
    if grant.revoked != 0 {
        return Err(conflict("the wallet has revoked the grant of this session key on chain, permanently"));
    }
    let registration = NewApiKey {
        session_public_key,
        wallet: owner.wallet,
        grant: address,
        name: &body.name,
        last_four: &body.last_four,
    };
    match api_keys::register(gateway.pool(), &registration).await? {
        Registered::Done => {}
        Registered::OtherName => {
            return Err(conflict("the key is registered under another name; change it with PATCH"));
        }
        Registered::OtherWallet => return Err(conflict("the key is registered for another wallet")),
        Registered::Revoked => return Err(conflict("the key has been revoked, permanently")),
        Registered::TooMany => {
            return Err(conflict(&format!("the wallet has {MOST_PER_WALLET} keys; revoke one first")));
        }
    }
    let name = CredentialName::Key { session_public_key, network: gateway.network() };
    gateway.engine.credentials.strangers.forget(&name);
    let mut key = shown(&gateway, &owner.wallet, &session_public_key).await?;
    // The mirror may not show the grant yet, or not its newest limits.
    key.limits = Some(Json((&grant).into()));
    Ok((StatusCode::CREATED, unstored(KeyAnswer::new(&gateway, key, Utc::now().timestamp()))).into_response())
}

/// The keys of the wallet, and what they need of its token approval.
#[utoipa::path(
    get,
    path = "/v1/keys",
    operation_id = "list_keys",
    tag = "keys",
    security(("session" = []), ("session_cookie" = [])),
    params(KeyListQuery),
    responses(
        (status = 200, description = "One page of keys", body = KeyListAnswer),
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no chain or no database; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn list(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiQuery(query): ApiQuery<KeyListQuery>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    let (limit, offset) = (query.limit.unwrap_or(100), query.offset.unwrap_or(0));
    let (pool, now) = (gateway.pool(), Utc::now().timestamp());
    let approval = approval(&gateway, &owner.wallet, now).await?;
    let total = api_keys::count(pool, &owner.wallet).await?;
    let keys = api_keys::page(pool, &owner.wallet, limit, offset).await?;
    let keys = keys.into_iter().map(|key| KeyAnswer::new(&gateway, key, now).with(&approval)).collect();
    Ok(unstored(KeyListAnswer { keys, total, limit, offset, approval }))
}

/// Names a key.
#[utoipa::path(
    patch,
    path = "/v1/keys/{session_public_key}",
    operation_id = "rename_key",
    tag = "keys",
    security(("session" = []), ("session_cookie" = [])),
    params(("session_public_key" = String, Path, description = "The session public key")),
    request_body = RenameKeyBody,
    responses(
        (status = 200, description = "The key", body = KeyAnswer),
        (status = 404, description = "`not_found`: this wallet has no such key, or it was not registered", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 4 KiB", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn rename(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(session_public_key): ApiPath<String>,
    ApiJson(body): ApiJson<RenameKeyBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    admit(&gateway, &owner)?;
    let session_public_key = public_key(&session_public_key, IN_PATH)?;
    check_name(&body.name)?;
    if !api_keys::rename(gateway.pool(), &owner.wallet, &session_public_key, &body.name).await? {
        return Err(ApiError::new(ErrorCode::NotFound, "this wallet has no key with this session public key"));
    }
    let key = shown(&gateway, &owner.wallet, &session_public_key).await?;
    Ok(unstored(KeyAnswer::new(&gateway, key, Utc::now().timestamp())))
}

/// Revokes a key permanently, at once in every process. The grant on chain stays: a wallet ends it with `revoke_spending`.
#[utoipa::path(
    delete,
    path = "/v1/keys/{session_public_key}",
    operation_id = "revoke_key",
    tag = "keys",
    security(("session" = []), ("session_cookie" = [])),
    params(("session_public_key" = String, Path, description = "The session public key")),
    responses(
        (status = 204, description = "Revoked, now or earlier"),
        (status = 400, description = "`invalid_request`: not a public key", body = ErrorBody),
        (status = 404, description = "`not_found`: this wallet has neither such a key nor a grant to it on chain", body = ErrorBody),
        (status = 429, description = "`rate_limited`; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no chain or no database; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn revoke(
    State(gateway): State<Gateway>,
    owner: SignedIn,
    ApiPath(session_public_key): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<StatusCode, ApiError> {
    admit(&gateway, &owner)?;
    let session_public_key = public_key(&session_public_key, IN_PATH)?;
    let pool = gateway.pool();
    if !api_keys::revoke(pool, &owner.wallet, &session_public_key).await? {
        let address = gateway.engine.config.addresses.grant(&owner.wallet, &session_public_key);
        let is_known = api_keys::shown(pool, &owner.wallet, &session_public_key).await?.is_some();
        if !is_known && grant_on_chain(&gateway, &address).await?.is_none() {
            return Err(no_grant());
        }
        api_keys::revoke_pair(pool, &owner.wallet, &session_public_key, &address).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// These endpoints read the chain, so each wallet has a rate.
fn admit(gateway: &Gateway, owner: &SignedIn) -> Result<(), ApiError> {
    gateway.key_requests.take(owner.wallet, "requests about the keys of this wallet")
}

fn check_name(name: &str) -> Result<(), ApiError> {
    let expected = "must be 1 to 64 visible characters without space around them";
    if is_name(name) { Ok(()) } else { Err(ApiError::invalid("name", expected)) }
}

const IN_PATH: &str = "in the path must be a public key in Base58";

fn public_key(session_public_key: &str, expected: &str) -> Result<Pubkey, ApiError> {
    session_public_key.parse().map_err(|_| ApiError::invalid("session_public_key", expected))
}

fn conflict(problem: &str) -> ApiError {
    ApiError::new(ErrorCode::Conflict, problem)
}

fn no_grant() -> ApiError {
    let message = "this wallet has granted nothing to this session key on chain; send `grant_spending` first";
    ApiError::new(ErrorCode::NotFound, message)
}

async fn grant_on_chain(gateway: &Gateway, address: &Pubkey) -> Result<Option<SpendingGrant>, ApiError> {
    let [account] = gateway.engine.read([*address]).await.map_err(ApiError::unavailable)?;
    Ok(gateway.engine.decode(account.as_ref()))
}

async fn shown(gateway: &Gateway, wallet: &Pubkey, session_public_key: &Pubkey) -> Result<ShownKey, ApiError> {
    let key = api_keys::shown(gateway.pool(), wallet, session_public_key).await?;
    key.ok_or_else(|| ApiError::internal("a key that was just written is not there"))
}

async fn approval(gateway: &Gateway, wallet: &Pubkey, now_unix_s: i64) -> Result<ApprovalAnswer, ApiError> {
    let instructions = &gateway.engine.instructions;
    let [account] = gateway.engine.read([instructions.usdc_of(wallet)]).await.map_err(ApiError::unavailable)?;
    let spender = instructions.addresses.spender(wallet);
    let (holding_usdc, approved_usdc, _) = holding_and_approval(account.as_ref(), wallet, &spender);
    let needed_usdc = api_keys::needed(gateway.pool(), wallet, now_unix_s).await?;
    Ok(ApprovalAnswer {
        approved_usdc,
        needed_usdc,
        holding_usdc,
        short_usdc: needed_usdc.map(|needed| UsdcBase(needed.0.saturating_sub(approved_usdc.0))),
    })
}
