//! Authentication for what a wallet may read with an API key or with a session.

use axum::{extract::FromRequestParts, http::request::Parts};
use solana_pubkey::Pubkey;

use crate::{
    auth::{AuthState, Presented},
    error::ApiError,
    layers::Peer,
    signed_in,
};

/// The wallet of the API key or of the session that a request presents. Without either: 401 `unauthorized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub wallet: Pubkey,
}

impl<S: AuthState> FromRequestParts<S> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let client = Peer::of(&parts.extensions);
        let session = signed_in::if_presented("API_KEY", &parts.method, &parts.headers, client, state).await?;
        let wallet = match session {
            Some(session) => session.wallet,
            None => Presented::read(parts, state)?.authenticate(state).await?.wallet,
        };
        Ok(Self { wallet })
    }
}
