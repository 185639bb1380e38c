//! Authentication for what a wallet may read with an API key or with a session.

use axum::{extract::FromRequestParts, http::request::Parts};
use crtx_store::reads::Asker;
use solana_pubkey::Pubkey;

use crate::{
    auth::{AuthState, Presented},
    credentials::{bearer, session_cookie},
    error::ApiError,
    layers::Peer,
    session_token,
    signed_in::PresentedSession,
};

/// The wallet of the API key or of the session that a request presents. Without either: 401 `unauthorized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub wallet: Pubkey,
}

impl<S: AuthState> FromRequestParts<S> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Credential::from_request_parts(parts, state).await?.authenticate(state).await
    }
}

/// A well-formed API key or session token that a request presents, and that may be looked up: a read can find its wallet in
/// its own statement ([`Credential::asker`]), or it is authenticated first. Without either: 401 `unauthorized`.
pub struct Credential(Kind);

enum Kind {
    Key(Presented),
    Session(PresentedSession),
}

impl<S: AuthState> FromRequestParts<S> for Credential {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let has_session = match bearer(&parts.headers, "API_KEY")? {
            Some(secret) => secret.starts_with(session_token::PREFIX),
            None => session_cookie(&parts.headers, state.site())?.is_some(),
        };
        Ok(Self(if has_session {
            Kind::Session(PresentedSession::read(&parts.method, &parts.headers, Peer::of(&parts.extensions), state)?)
        } else {
            Kind::Key(Presented::read(parts, state)?)
        }))
    }
}

impl Credential {
    /// The credential as a read names it. `None`: it has to be authenticated first.
    pub fn asker(&self) -> Option<Asker> {
        match &self.0 {
            Kind::Key(key) => Some(key.asker()),
            Kind::Session(session) => session.asker(),
        }
    }

    /// Looks the credential up, and notes its use.
    pub async fn authenticate<S: AuthState>(self, state: &S) -> Result<Reader, ApiError> {
        let wallet = match self.0 {
            Kind::Key(key) => key.authenticate(state).await?.wallet,
            Kind::Session(session) => session.authenticate(state).await?.wallet,
        };
        Ok(Reader { wallet })
    }
}
