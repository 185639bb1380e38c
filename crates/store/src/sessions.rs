//! Sessions of wallets that signed in. Whether a session holds is asked here on every
//! request, so the end of a session holds at once in every process.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Result,
    columns::{Base58, Timestamp},
    database::run,
    transaction,
};

/// A wallet that signs in once more ends its oldest session.
pub const MOST_PER_WALLET: i64 = 20;

/// How the session's token is sent: in the header `Authorization`, or in a cookie.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, ToSchema, strum::IntoStaticStr, sqlx::Type,
)]
#[schema(as = SessionKindName)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum SessionKind {
    Bearer,
    Cookie,
}

/// A session to be stored. It has no secret part.
#[derive(Clone, Copy, Debug)]
pub struct NewSession {
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    pub wallet: Pubkey,
    pub kind: SessionKind,
    pub lifetime: TimeDelta,
    /// The random part of the challenge that was signed.
    pub challenge: [u8; 16],
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub session_id: Uuid,
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    pub wallet: Pubkey,
    pub kind: SessionKind,
    pub last_used_at: Option<DateTime<Utc>>,
    pub expires_at: DateTime<Utc>,
    /// Whether it was ended before its time.
    pub ended: bool,
    /// Whether its time is over, by the database's clock.
    pub expired: bool,
    /// Whether the stored last use is old enough to be worth a write.
    pub is_use_due: bool,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SessionAnswer {
    pub session_id: Uuid,
    pub kind: SessionKind,
    pub created_at: Timestamp,
    /// Correct to ten seconds. null before the first use.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    /// Whether this request uses it.
    pub current: bool,
}

/// Stores the session. `None`: its challenge was used before.
pub async fn open(pool: &PgPool, session: &NewSession) -> Result<Option<SessionRow>> {
    let mut transaction = transaction::begin(pool).await?;
    let wallet = session.wallet.to_string();
    // Sign-ins of one wallet count its sessions one after another.
    sqlx::query!("SELECT pg_advisory_xact_lock(1668445306, hashtext($1))", &wallet).execute(&mut *transaction).await?;
    let statement = sqlx::query!(
        "UPDATE sessions SET ended_at = now() WHERE session_id IN (
             SELECT session_id FROM sessions WHERE wallet = $1 AND ended_at IS NULL AND expires_at > now()
             ORDER BY created_at DESC, session_id OFFSET $2)",
        &wallet,
        MOST_PER_WALLET.saturating_sub(1),
    );
    statement.execute(&mut *transaction).await?;
    let row = sqlx::query_as!(
        SessionRow,
        r#"INSERT INTO sessions (session_id, token_hash, wallet, kind, created_at, expires_at, challenge)
           VALUES ($1, $2, $3, $4, clock_timestamp(), now() + make_interval(secs => $5), $6)
           ON CONFLICT (challenge) DO NOTHING
           RETURNING session_id, token_hash AS "token_hash: [u8; 32]", wallet AS "wallet: Base58",
               kind AS "kind: SessionKind", last_used_at, expires_at,
               false AS "ended!", false AS "expired!", true AS "is_use_due!""#,
        Uuid::new_v4(),
        session.token_hash.as_slice(),
        &wallet,
        session.kind.into_str(),
        session.lifetime.as_seconds_f64(),
        session.challenge.as_slice(),
    );
    let row = row.fetch_optional(&mut *transaction).await?;
    if row.is_some() {
        transaction.commit().await?;
    }
    Ok(row)
}

/// The sessions with these tokens, over or not, in any order. `last_used_at` is correct to ten seconds.
pub async fn find_all(db: impl PgExecutor<'_>, token_hashes: &[[u8; 32]]) -> Result<Vec<SessionRow>> {
    let hashes: Vec<Vec<u8>> = token_hashes.iter().map(|hash| hash.to_vec()).collect();
    let rows = sqlx::query_as!(
        SessionRow,
        r#"SELECT session_id, token_hash AS "token_hash: [u8; 32]", wallet AS "wallet: Base58",
                  kind AS "kind: SessionKind", last_used_at, expires_at,
                  ended_at IS NOT NULL AS "ended!", expires_at <= now() AS "expired!",
                  COALESCE(last_used_at < now() - interval '10 seconds', true) AS "is_use_due!"
           FROM sessions WHERE token_hash = ANY($1)"#,
        &hashes,
    );
    Ok(rows.fetch_all(db).await?)
}

/// The sessions of a wallet that are not over, newest first. `current`: the one that asks.
pub async fn list(db: impl PgExecutor<'_>, wallet: &Pubkey, current: &Uuid) -> Result<Vec<SessionAnswer>> {
    let rows = sqlx::query_as!(
        SessionAnswer,
        r#"SELECT session_id, kind AS "kind: SessionKind", created_at AS "created_at: Timestamp",
                  last_used_at AS "last_used_at: Timestamp", expires_at AS "expires_at: Timestamp",
                  session_id = $2 AS "current!"
           FROM sessions
           WHERE wallet = $1 AND ended_at IS NULL AND expires_at > now()
           ORDER BY created_at DESC, session_id LIMIT 100"#,
        wallet.to_string(),
        current,
    );
    Ok(rows.fetch_all(db).await?)
}

/// Ends a session of that wallet. False if the wallet has no such session, or it is over.
pub async fn end(db: impl PgExecutor<'_>, wallet: &Pubkey, session_id: &Uuid) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE sessions SET ended_at = now()
         WHERE session_id = $1 AND wallet = $2 AND ended_at IS NULL AND expires_at > now()",
        session_id,
        wallet.to_string(),
    );
    Ok(done.execute(db).await?.rows_affected() == 1)
}

/// Notes that a session was used.
pub async fn touch(db: impl PgExecutor<'_>, session_id: &Uuid) -> Result<()> {
    let statement = sqlx::query!("UPDATE sessions SET last_used_at = now() WHERE session_id = $1", session_id);
    run(db, statement).await
}

/// Deletes at most so many sessions that were over for an hour: by then no clock accepts their challenge any more. Returns
/// how many.
pub async fn purge(pool: &PgPool, most: i64) -> Result<u64> {
    let purged = sqlx::query!(
        "DELETE FROM sessions WHERE session_id IN (
             SELECT session_id FROM sessions WHERE COALESCE(ended_at, expires_at) < now() - interval '1 hour'
             ORDER BY COALESCE(ended_at, expires_at) LIMIT $1)",
        most,
    );
    Ok(purged.execute(pool).await?.rows_affected())
}
