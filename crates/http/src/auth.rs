//! Authentication: `Authorization: Bearer <API key>` → the wallet that the key acts for.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use crtx_store::{
    PgPool,
    api_keys::{self, ApiKeyRow},
};
use solana_pubkey::Pubkey;

use crate::error::ApiError;

/// What authentication needs of a service's state.
pub trait AuthState: Send + Sync {
    fn pool(&self) -> &PgPool;
    /// The network this deployment works on: keys of the other one are refused.
    fn network(&self) -> KeyNetwork;
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
        authenticate(&parts.headers, state.pool(), state.network()).await
    }
}

/// Checks the `Authorization` header of a request.
pub async fn authenticate(headers: &HeaderMap, pool: &PgPool, network: KeyNetwork) -> Result<Caller, ApiError> {
    Presented::read(headers, network)?.authenticate(pool).await
}

/// A well-formed API key of this network. It is not looked up yet.
#[derive(Clone, Debug)]
pub struct Presented {
    key: ApiKey,
    session_key: Pubkey,
}

impl Presented {
    /// Reads the `Authorization` header of a request.
    pub fn read(headers: &HeaderMap, network: KeyNetwork) -> Result<Self, ApiError> {
        let key = presented_key(headers)?;
        if key.network() != network {
            let expected = network.prefix();
            return Err(ApiError::unauthorized(format!("this service accepts keys that start with `{expected}`")));
        }
        Ok(Self { session_key: Pubkey::new_from_array(key.session_public_key()), key })
    }

    pub const fn session_key(&self) -> &Pubkey {
        &self.session_key
    }

    /// Looks the key up.
    pub async fn authenticate(self, pool: &PgPool) -> Result<Caller, ApiError> {
        let Self { key, session_key } = self;
        let row = match api_keys::find(pool, &session_key).await? {
            Some(row) if row.network == key.network() => row,
            _ => return Err(ApiError::unauthorized("the API key is not known")),
        };
        if row.revoked_at.is_some() {
            return Err(ApiError::unauthorized("the API key has been revoked"));
        }
        note_use(pool, &row).await;
        Ok(Caller { wallet: row.wallet, session_key, key })
    }
}

fn presented_key(headers: &HeaderMap) -> Result<ApiKey, ApiError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value =
        values.next().ok_or_else(|| ApiError::unauthorized("send the API key as `Authorization: Bearer <API_KEY>`"))?;
    if values.next().is_some() {
        return Err(ApiError::unauthorized("send one `Authorization` header"));
    }
    let malformed = || ApiError::unauthorized("the `Authorization` header must be `Bearer <API_KEY>`");
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, key) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    key.trim().parse().map_err(|error| ApiError::unauthorized(format!("the API key is malformed: {error}")))
}

/// Keeps `last_used_at` correct to ten seconds without a write per request. If this fails, the key is accepted anyway.
async fn note_use(pool: &PgPool, row: &ApiKeyRow) {
    if row.is_use_due()
        && let Err(error) = api_keys::touch(pool, &row.session_public_key).await
    {
        tracing::warn!(%error, "the use of an API key could not be noted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<ApiKey, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().expect("header value"));
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
