//! Authentication: `Authorization: Bearer <API key>` → the wallet that the key acts for.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use crtx_store::{
    PgPool,
    api_keys::{self, Adopted, ApiKeyRow, FirstUse},
    reads::Asker,
};
use solana_pubkey::Pubkey;

use crate::{credentials::bearer, error::ApiError, serve::BodyOwner, session_keys, site::Site};

/// What authentication needs of a service's state.
pub trait AuthState: Send + Sync {
    fn pool(&self) -> &PgPool;
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
        let caller = authenticate(&parts.headers, state.pool(), state.network()).await?;
        BodyOwner::note(&parts.extensions, &caller.wallet);
        Ok(caller)
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
        Ok(Self { session_key: session_keys::of(&key), key })
    }

    /// The key as a read names it that finds the wallet itself.
    pub const fn asker(&self) -> Asker {
        Asker::Key { session_public_key: self.session_key, network: self.key.network() }
    }

    pub const fn session_key(&self) -> &Pubkey {
        &self.session_key
    }

    /// Looks the key up. A key that nobody registered acts for the only wallet that ever granted to it.
    pub async fn authenticate(self, pool: &PgPool) -> Result<Caller, ApiError> {
        let row = match api_keys::find(pool, &self.session_key).await? {
            Some(row) if row.network == self.key.network() => row,
            Some(_) => return Err(ApiError::unauthorized("the API key is not known")),
            None => self.adopt(pool).await?,
        };
        if row.revoked_at.is_some() {
            return Err(revoked());
        }
        note_use(pool, &row, &self.key).await;
        Ok(Caller { wallet: row.wallet, session_key: self.session_key, key: self.key })
    }

    async fn adopt(&self, pool: &PgPool) -> Result<ApiKeyRow, ApiError> {
        let last_four = self.key.last_four();
        let first_use =
            FirstUse { session_public_key: self.session_key, network: self.key.network(), last_four: &last_four };
        match api_keys::adopt(pool, &first_use).await? {
            Adopted::Owned(row) => Ok(row),
            Adopted::Revoked => Err(revoked()),
            Adopted::Unknown => Err(ApiError::unauthorized("the API key is not known")),
            Adopted::Ambiguous => Err(ApiError::unauthorized(
                "several wallets have granted spending to this API key: its owner must register it with `POST /v1/keys`",
            )),
        }
    }
}

fn revoked() -> ApiError {
    ApiError::unauthorized("the API key has been revoked")
}

fn presented_key(headers: &HeaderMap) -> Result<ApiKey, ApiError> {
    let key = bearer(headers, "API_KEY")?;
    let key = key.ok_or_else(|| ApiError::unauthorized("send the API key as `Authorization: Bearer <API_KEY>`"))?;
    key.parse().map_err(|error| ApiError::unauthorized(format!("the API key is malformed: {error}")))
}

/// Keeps `last_used_at` correct to ten seconds without a write per request. If this fails, the key is accepted anyway.
async fn note_use(pool: &PgPool, row: &ApiKeyRow, key: &ApiKey) {
    if row.is_use_due()
        && let Err(error) = api_keys::touch(pool, row, &key.last_four()).await
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
