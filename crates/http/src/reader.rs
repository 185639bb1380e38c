//! Authentication for what a wallet may read with an API key or with a session.

use axum::{extract::FromRequestParts, http::request::Parts};
use solana_pubkey::Pubkey;

use crate::{
    auth::{self, AuthState},
    credentials::{bearer, session_cookie},
    error::ApiError,
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
            None => session_cookie(&parts.headers)?.is_some(),
        };
        let wallet = if has_session {
            signed_in::authenticate(&parts.method, &parts.headers, state).await?.wallet
        } else {
            auth::authenticate(&parts.headers, state.pool(), state.network()).await?.wallet
        };
        Ok(Self { wallet })
    }
}
