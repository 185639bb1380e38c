//! Metadata documents of listings: those to fetch, and the results.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::{metadata::Metadata, text::without_nul};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool};

use crate::{
    convert::{amount_to_db, fixed_bytes, pubkey},
    error::StoreError,
    transaction,
};

/// A document that a listing names and that is not fetched yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub agent: Pubkey,
    pub sha256: [u8; 32],
    pub uri: String,
    /// Attempts that failed so far.
    pub attempts: u32,
}

/// Documents to fetch now: those of listings without one, unless the next attempt is later. Fewest attempts first, so
/// that a creator with many dead links delays no other.
pub async fn wanted(executor: impl PgExecutor<'_>, limit: u32) -> Result<Vec<Wanted>, StoreError> {
    sqlx::query!(
        r#"SELECT a.address AS "address!", a.metadata_hash AS "metadata_hash!", a.metadata_uri AS "metadata_uri!",
                  COALESCE(m.attempts, 0) AS "attempts!"
           FROM shown_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
           WHERE a.name IS NULL
             AND (m.error IS NULL OR m.next_attempt <= now() OR m.uri <> a.metadata_uri)
           ORDER BY COALESCE(m.attempts, 0), a.address
           LIMIT $1"#,
        i64::from(limit),
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| {
        Ok(Wanted {
            agent: pubkey("agent address", &row.address)?,
            sha256: fixed_bytes("metadata hash", &row.metadata_hash)?,
            uri: row.metadata_uri,
            attempts: u32::try_from(row.attempts).map_err(|_| StoreError::corrupt("attempts", row.attempts))?,
        })
    })
    .collect()
}

/// Keeps a document. The caller has checked its SHA-256 and read it with [`Metadata::parse`]. A document
/// that the database cannot hold is an error like any other failed attempt; see [`store_failure`].
pub async fn store_document(
    pool: &PgPool,
    wanted: &Wanted,
    document: &Value,
    metadata: &Metadata,
) -> Result<(), StoreError> {
    let agent = wanted.agent.to_string();
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!(
        "INSERT INTO agent_metadata (agent, sha256, uri, document, name, tagline, tags, endpoint, fetched_at, attempts)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now(), $9)
         ON CONFLICT (agent, sha256) DO UPDATE SET
             uri = excluded.uri, document = excluded.document, name = excluded.name, tagline = excluded.tagline,
             tags = excluded.tags, endpoint = excluded.endpoint, fetched_at = excluded.fetched_at, error = NULL,
             attempts = excluded.attempts, next_attempt = NULL",
        agent,
        wanted.sha256.as_slice(),
        wanted.uri,
        document,
        metadata.name,
        metadata.tagline,
        &metadata.tags,
        metadata.endpoint,
        i32::try_from(wanted.attempts.saturating_add(1)).unwrap_or(i32::MAX),
    )
    .execute(&mut *transaction)
    .await?;
    sqlx::query!(
        "UPDATE mirror_agents SET name = $3, tagline = $4, tags = $5 WHERE address = $1 AND metadata_hash = $2",
        agent,
        wanted.sha256.as_slice(),
        metadata.name,
        metadata.tagline,
        &metadata.tags,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(())
}

/// Notes why there is no document and when to try again. A stored document stays.
pub async fn store_failure(pool: &PgPool, wanted: &Wanted, error: &str, retry_in: Duration) -> Result<(), StoreError> {
    let seconds = amount_to_db("retry delay", retry_in.as_secs())?;
    let next: DateTime<Utc> = TimeDelta::try_seconds(seconds)
        .and_then(|delay| Utc::now().checked_add_signed(delay))
        .ok_or_else(|| StoreError::out_of_range("retry delay", seconds))?;
    sqlx::query!(
        "INSERT INTO agent_metadata AS m (agent, sha256, uri, error, attempts, next_attempt)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (agent, sha256) DO UPDATE SET
             uri = excluded.uri, error = excluded.error, attempts = excluded.attempts,
             next_attempt = excluded.next_attempt
         WHERE m.error IS NOT NULL",
        wanted.agent.to_string(),
        wanted.sha256.as_slice(),
        wanted.uri,
        without_nul(error),
        i32::try_from(wanted.attempts.saturating_add(1)).unwrap_or(i32::MAX),
        next,
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// The document with that hash, if it has been fetched for that agent.
pub async fn document(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    sha256: &[u8; 32],
) -> Result<Option<Value>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT document AS "document!" FROM agent_metadata
           WHERE agent = $1 AND sha256 = $2 AND document IS NOT NULL"#,
        agent.to_string(),
        sha256.as_slice(),
    )
    .fetch_optional(executor)
    .await?;
    Ok(row.map(|row| row.document))
}
