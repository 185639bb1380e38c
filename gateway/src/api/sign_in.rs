//! `POST /v1/sign-in/challenge` and `POST /v1/sign-in`: sign-in with Solana.

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use chrono::{TimeDelta, Utc};
use crtx_http::{ApiError, ApiJson, AuthState, ErrorBody, Peer, session_token::SessionToken, signed_in::check_page};
use crtx_protocol::sign_in::{STATEMENT, SignInMessage, VERSION};
use crtx_store::{
    reads::Timestamp,
    sessions::{self, NewSession, SessionKind},
};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{gateway::Gateway, sign_in::MAX_BODY_BYTES};

/// How long a session holds, used or not.
const SESSION_LIFETIME: TimeDelta = TimeDelta::days(7);

/// Body of `POST /v1/sign-in/challenge`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChallengeBody {
    /// The wallet that signs in.
    address: String,
}

/// What to sign.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChallengeAnswer {
    input: SignInInput,
    /// The exact text to sign: what a wallet builds from `input`.
    message: String,
}

/// The input of the wallet standard's `signIn`: its `SolanaSignInInput`.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignInInput {
    /// Host of this service, with its port if that is not the default one.
    domain: String,
    address: String,
    statement: &'static str,
    uri: String,
    #[schema(example = "1")]
    version: &'static str,
    /// `solana:mainnet`, `solana:devnet` or `solana:localnet`.
    #[serde(rename = "chainId")]
    chain_id: &'static str,
    /// For one use.
    nonce: String,
    #[serde(rename = "issuedAt")]
    issued_at: String,
    /// Five minutes later.
    #[serde(rename = "expirationTime")]
    expiration_time: String,
}

/// Body of `POST /v1/sign-in`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInBody {
    /// The challenge's `message`, unchanged.
    message: String,
    /// The wallet's signature over it: `ed25519:` and the base58 form of 64 bytes.
    signature: String,
    session: SessionKind,
}

/// A new session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignInAnswer {
    session_id: Uuid,
    wallet: String,
    expires_at: Timestamp,
    /// Only of a bearer session: `crtx_session_…`. It is shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Only of a cookie session: what the header `X-CSRF-Token` must hold in every request that changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf_token: Option<String>,
}

impl From<&SignInMessage> for SignInInput {
    fn from(message: &SignInMessage) -> Self {
        let SignInMessage { domain, address, uri, cluster, nonce, issued_at, expiration_time } = message.clone();
        Self {
            domain,
            address: address.to_string(),
            statement: STATEMENT,
            uri,
            version: VERSION,
            chain_id: cluster.chain_id(),
            nonce,
            issued_at,
            expiration_time,
        }
    }
}

/// A text for a wallet to sign. It is good for one sign-in within five minutes.
#[utoipa::path(
    post,
    path = "/v1/sign-in/challenge",
    operation_id = "create_sign_in_challenge",
    tag = "sessions",
    request_body = ChallengeBody,
    responses(
        (status = 200, description = "What to sign", body = ChallengeAnswer),
        (status = 400, description = "`invalid_request`", body = ErrorBody),
        (status = 429, description = "`rate_limited`: too many sign-ins from this address; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn challenge(
    State(gateway): State<Gateway>,
    peer: Option<Extension<Peer>>,
    ApiJson(body): ApiJson<ChallengeBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    let sign_in = &gateway.sign_in;
    let address = body.address.parse::<Pubkey>();
    let address = address.map_err(|_| ApiError::invalid("address", "must be the address of a wallet in Base58"))?;
    sign_in.admit(peer.map(|Extension(Peer(address))| address), Some(address))?;
    let message = sign_in.challenge(address, Utc::now())?;
    Ok(unstored(ChallengeAnswer { input: (&message).into(), message: message.to_string() }))
}

/// Opens a session with a signed challenge.
#[utoipa::path(
    post,
    path = "/v1/sign-in",
    operation_id = "sign_in",
    tag = "sessions",
    request_body = SignInBody,
    responses(
        (status = 200, description = "A session for seven days. A cookie session also sets the cookie `crtx_session`, on https `__Host-crtx_session`", body = SignInAnswer),
        (status = 400, description = "`invalid_request`", body = ErrorBody),
        (status = 401, description = "`unauthorized`: the challenge was altered, used, has expired, or is of another domain or network; or the signature is not the wallet's", body = ErrorBody),
        (status = 403, description = "`forbidden`: a cookie is set for pages of the own origin alone", body = ErrorBody),
        (status = 429, description = "`rate_limited`: too many sign-ins from this address; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody),
    ),
)]
pub async fn sign_in(
    State(gateway): State<Gateway>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    ApiJson(body): ApiJson<SignInBody, MAX_BODY_BYTES>,
) -> Result<Response, ApiError> {
    let sign_in = &gateway.sign_in;
    // The wallet that the text names has not proved anything yet.
    let named = body.message.parse::<SignInMessage>().ok().map(|message| message.address);
    sign_in.admit(peer.map(|Extension(Peer(address))| address), named)?;
    let kind = body.session;
    if kind == SessionKind::Cookie {
        check_page(&headers, gateway.site())?;
    }
    let (wallet, challenge) = sign_in.check(&body.message, &body.signature, Utc::now())?;
    sign_in.admit_session(wallet)?;
    let token = SessionToken::generate().map_err(ApiError::internal)?;
    let new = NewSession { token_hash: token.hash(), wallet, kind, lifetime: SESSION_LIFETIME, challenge };
    let session = sessions::open(gateway.pool(), &new).await?;
    let session = session.ok_or_else(|| ApiError::unauthorized("`message` has been used; ask for a new challenge"))?;
    let is_cookie = kind == SessionKind::Cookie;
    let mut response = unstored(SignInAnswer {
        session_id: session.session_id,
        wallet: session.wallet.to_string(),
        expires_at: Timestamp(session.expires_at),
        token: (!is_cookie).then(|| token.reveal()),
        csrf_token: is_cookie.then(|| token.csrf_token()),
    });
    if is_cookie {
        let cookie = cookie(&gateway, &token.reveal(), SESSION_LIFETIME)?;
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The session's cookie. A lifetime of zero removes it.
pub(super) fn cookie(gateway: &Gateway, token: &str, lifetime: TimeDelta) -> Result<HeaderValue, ApiError> {
    let secure = if gateway.site().is_secure() { "; Secure" } else { "" };
    let seconds = lifetime.num_seconds();
    let name = gateway.site().session_cookie();
    let text = format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).map_err(ApiError::internal)
}

/// An answer that no cache keeps.
pub(super) fn unstored(answer: impl Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response()
}
