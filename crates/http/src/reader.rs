//! Authentication for what a wallet may read with an API key or with a session.

use axum::{extract::FromRequestParts, http::request::Parts};
use solana_pubkey::Pubkey;

use crate::{
    auth::{ApiKeyHeader, AuthState},
    error::ApiError,
    layers::Peer,
    signed_in,
    strangers::CredentialName,
};

/// The wallet of the API key or of the session that a request presents. Without either: 401 `unauthorized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub wallet: Pubkey,
    /// What was presented, to look it up again while an answer goes on.
    pub credential: CredentialName,
}

impl<S: AuthState> FromRequestParts<S> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let client = Peer::of(&parts.extensions);
        let session = signed_in::if_presented("API_KEY", &parts.method, &parts.headers, client, state).await?;
        match session {
            Some(session) => Ok(Self { wallet: session.wallet, credential: session.name }),
            None => {
                let presented = ApiKeyHeader::read(parts, state)?;
                let credential = presented.name();
                Ok(Self { wallet: presented.authenticate(state).await?.wallet, credential })
            }
        }
    }
}
