//! Authentication: `Authorization: Bearer <API key>` → the wallet that the key acts for.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use crtx_store::api_keys::{self, ApiKeyRow};
use solana_pubkey::Pubkey;

use crate::{
    credentials::bearer,
    error::ApiError,
    layers::Peer,
    lookup::{Credentials, note_use},
    serve::BodyOwner,
    site::Site,
    strangers::CredentialName,
};

/// What authentication needs of a service's state.
pub trait AuthState: Send + Sync {
    fn credentials(&self) -> &Credentials;
    /// The network this deployment works on: keys of the other one are refused.
    fn network(&self) -> KeyNetwork;
    /// Where clients reach this deployment.
    fn site(&self) -> &Site;
}

/// The owner of the API key that a request presents. Without a valid key: 401 `unauthorized`.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The wallet that is billed and whose executions may be read.
    pub wallet: Pubkey,
    /// The session public key: identifies the API key.
    pub session_key: Pubkey,
    /// The key itself: its session key pair signs openings while the request is there. Never store it.
    pub key: ApiKey,
}

impl<S: AuthState> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = ApiKeyHeader::read(parts, state)?.authenticate(state).await?;
        BodyOwner::note(&parts.extensions, &caller.wallet);
        Ok(caller)
    }
}

/// A well-formed API key of this network, which may be looked up.
#[derive(Clone, Debug)]
pub struct ApiKeyHeader {
    key: ApiKey,
    session_key: Pubkey,
}

impl ApiKeyHeader {
    /// Reads the `Authorization` header of a request. A key that was refused a moment ago is refused again here, and a
    /// client that presents many unknown keys gets 429.
    pub fn read<S: AuthState>(parts: &Parts, state: &S) -> Result<Self, ApiError> {
        let key = presented_key(&parts.headers)?;
        if key.network() != state.network() {
            let expected = state.network().prefix();
            return Err(ApiError::unauthorized(format!("this service accepts keys that start with `{expected}`")));
        }
        let presented = Self { session_key: Pubkey::new_from_array(key.session_public_key()), key };
        state.credentials().strangers.admit(&presented.name(), Peer::of(&parts.extensions))?;
        Ok(presented)
    }

    pub const fn name(&self) -> CredentialName {
        CredentialName::Key { session_public_key: self.session_key, network: self.key.network() }
    }

    pub const fn session_key(&self) -> &Pubkey {
        &self.session_key
    }

    /// Looks the key up. It acts for the wallet that its holder registered it for.
    pub async fn authenticate<S: AuthState>(self, state: &S) -> Result<Caller, ApiError> {
        let credentials = state.credentials();
        let found = self.find(credentials).await;
        credentials.strangers.note(&self.name(), &found);
        let row = found?;
        if row.is_use_due {
            note_use(api_keys::touch(&credentials.pool, &row)).await;
        }
        Ok(Caller { wallet: row.wallet, session_key: self.session_key, key: self.key })
    }

    async fn find(&self, credentials: &Credentials) -> Result<ApiKeyRow, ApiError> {
        that_works(credentials.keys.ask(self.session_key).await?)
    }
}

/// The key, if it is valid.
pub fn that_works(row: Option<ApiKeyRow>) -> Result<ApiKeyRow, ApiError> {
    match row {
        Some(row) if row.revoked_at.is_some() => Err(ApiError::unauthorized("the API key has been revoked")),
        Some(row) => Ok(row),
        None => Err(ApiError::unauthorized("the API key is not known; its owner registers it with `POST /v1/keys`")),
    }
}

fn presented_key(headers: &HeaderMap) -> Result<ApiKey, ApiError> {
    let key = bearer(headers, "API_KEY")?;
    let key = key.ok_or_else(|| ApiError::unauthorized("send the API key as `Authorization: Bearer <API_KEY>`"))?;
    key.parse().map_err(|error| ApiError::unauthorized(format!("the API key is malformed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<ApiKey, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(axum::http::header::AUTHORIZATION, value.parse().expect("header value"));
        }
        presented_key(&headers)
    }

    #[test]
    fn a_bearer_key_is_read() {
        let key = ApiKey::from_secret(KeyNetwork::Test, [3; 32]);
        assert_eq!(read(&[&format!("Bearer {}", key.reveal())]), Ok(key.clone()));
        assert_eq!(read(&[&format!("bearer  {}", key.reveal())]), Ok(key));
    }

    #[test]
    fn anything_else_is_unauthorized() {
        let key = ApiKey::from_secret(KeyNetwork::Test, [3; 32]).reveal();
        let bearer = format!("Bearer {key}");
        for bad in [
            &[][..],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &[&key],
            &["Basic abc"],
            &["Bearer crtx_test_0"],
            &[&bearer, &bearer],
        ] {
            let error = read(bad).expect_err("refused");
            assert_eq!(error.status(), axum::http::StatusCode::UNAUTHORIZED, "{bad:?}");
            assert!(!error.message.contains(&key), "the message must not echo the key");
        }
    }
}
