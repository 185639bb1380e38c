//! Authentication for what a wallet may read with an API key or with a session.

use axum::{extract::FromRequestParts, http::request::Parts};
use solana_pubkey::Pubkey;

use crate::{
    auth::{AuthState, Presented},
    credentials::{bearer, session_cookie},
    error::ApiError,
    layers::Peer,
    session_token, signed_in,
};

/// The wallet of the API key or of the session that a request presents. Without either: 401 `unauthorized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub wallet: Pubkey,
}

impl<S: AuthState> FromRequestParts<S> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let has_session = match bearer(&parts.headers, "API_KEY")? {
            Some(secret) => secret.starts_with(session_token::PREFIX),
            None => session_cookie(&parts.headers, state.site())?.is_some(),
        };
        let wallet = if has_session {
            signed_in::authenticate(&parts.method, &parts.headers, Peer::of(&parts.extensions), state).await?.wallet
        } else {
            Presented::read(parts, state)?.authenticate(state).await?.wallet
        };
        Ok(Self { wallet })
    }
}
