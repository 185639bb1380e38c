//! The stored API keys.

use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::{api_key::KeyNetwork, usdc::UsdcBase};
use solana_pubkey::Pubkey;
use sqlx::{Decode, PgExecutor, PgPool, Postgres, error::BoxDynError, postgres::PgValueRef};

use crate::{
    columns::{Base58, Count, Usdc},
    error::StoreError,
};

/// A key to be stored. It has no secret part.
#[derive(Clone, Debug)]
pub struct NewApiKey<'a> {
    pub session_public_key: Pubkey,
    pub wallet: Pubkey,
    /// The on-chain `SpendingGrant` of wallet and session key.
    pub grant: Pubkey,
    pub name: &'a str,
    pub network: KeyNetwork,
}

/// A stored key as its owner may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyRow {
    pub session_public_key: Pubkey,
    pub wallet: Pubkey,
    pub grant: Pubkey,
    /// `None`: nobody named it.
    pub name: Option<String>,
    pub network: KeyNetwork,
    /// The end of the key's text, once it is known.
    pub last_four: Option<String>,
    /// Whether the key acts for this wallet.
    pub proven: bool,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub execution_count: u64,
    pub spent: UsdcBase,
}

impl ApiKeyRow {
    /// The precision of `last_used_at`.
    const USE_RESOLUTION: TimeDelta = TimeDelta::seconds(10);

    /// Whether a use is worth a write: the stored last use is old, or the end of the key's text is not stored.
    pub fn is_use_due(&self) -> bool {
        self.last_four.is_none()
            || self.last_used_at.is_none_or(|last| Utc::now().signed_duration_since(last) >= Self::USE_RESOLUTION)
    }
}

pub(super) const fn network_to_db(network: KeyNetwork) -> &'static str {
    match network {
        KeyNetwork::Live => "live",
        KeyNetwork::Test => "test",
    }
}

/// The network of a stored key.
struct StoredNetwork(KeyNetwork);

impl<'r> Decode<'r, Postgres> for StoredNetwork {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        match <&str as Decode<Postgres>>::decode(value)? {
            "live" => Ok(Self(KeyNetwork::Live)),
            "test" => Ok(Self(KeyNetwork::Test)),
            other => Err(format!("no network of keys is called {other}").into()),
        }
    }
}

impl From<StoredNetwork> for KeyNetwork {
    fn from(StoredNetwork(network): StoredNetwork) -> Self {
        network
    }
}

/// Stores a key whose wallet is known to hold its secret. A second such key with the same session public key is a
/// unique violation.
pub async fn insert(executor: impl PgExecutor<'_>, key: &NewApiKey<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO api_keys (session_public_key, wallet, grant_address, name, network, registered_at)
         VALUES ($1, $2, $3, $4, $5, now())",
        key.session_public_key.to_string(),
        key.wallet.to_string(),
        key.grant.to_string(),
        key.name,
        network_to_db(key.network),
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// The key with that session public key, of the wallet that it acts for, revoked or not. A key is also revoked once its
/// wallet has ended the grant on chain, from when the mirror shows it: the program never renews a grant.
pub async fn find(executor: impl PgExecutor<'_>, session_public_key: &Pubkey) -> Result<Option<ApiKeyRow>, StoreError> {
    Ok(find_all(executor, &[*session_public_key]).await?.pop())
}

/// The same for several keys, in any order.
pub async fn find_all(
    executor: impl PgExecutor<'_>,
    session_public_keys: &[Pubkey],
) -> Result<Vec<ApiKeyRow>, StoreError> {
    let keys: Vec<String> = session_public_keys.iter().map(Pubkey::to_string).collect();
    let rows = sqlx::query_as!(
        ApiKeyRow,
        r#"SELECT k.session_public_key AS "session_public_key!: Base58", k.wallet AS "wallet!: Base58",
                  k.grant_address AS "grant!: Base58", k.name, k.network AS "network!: StoredNetwork", k.last_four,
                  k.proven AS "proven!", k.created_at AS "created_at!", k.last_used_at,
                  COALESCE(k.revoked_at, CASE WHEN g.revoked THEN g.observed_at END) AS "revoked_at?",
                  k.execution_count AS "execution_count!: Count", k.spent AS "spent!: Usdc"
           FROM api_keys k LEFT JOIN mirror_grants g ON g.address = k.grant_address
           WHERE k.session_public_key = ANY($1) AND k.proven"#,
        &keys,
    );
    Ok(rows.fetch_all(executor).await?)
}

/// Revokes a key of that wallet permanently. False if the wallet has no such key, or it is revoked already.
pub async fn revoke(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    session_public_key: &Pubkey,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "UPDATE api_keys SET revoked_at = now()
         WHERE session_public_key = $1 AND wallet = $2 AND revoked_at IS NULL",
        session_public_key.to_string(),
        wallet.to_string(),
    )
    .execute(executor)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that a key was used, and the end of its text.
pub async fn touch(pool: &PgPool, key: &ApiKeyRow, last_four: &str) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE api_keys SET last_used_at = now(), last_four = $3 WHERE session_public_key = $1 AND wallet = $2",
        key.session_public_key.to_string(),
        key.wallet.to_string(),
        last_four,
    )
    .execute(pool)
    .await?;
    Ok(())
}
