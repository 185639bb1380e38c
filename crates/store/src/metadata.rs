//! Metadata documents of listings: what was fetched, why it was not, and what is pruned.

use std::time::Duration;

use crtx_protocol::{metadata::Metadata, text::without_nul};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};

use crate::{document_claims, error::StoreError, transaction};

pub use crate::document_claims::Wanted;

/// Documents of an agent that are kept in addition to the one that its listing names: reads name an agent after its
/// newest document while the next one is fetched, and a creator may return to an earlier one. Their content is held too
/// (`is_of_listing` in `migrations/0007_content.sql`).
const KEPT_EARLIER: i64 = 9;
/// Documents that one call of [`prune_closed`] deletes.
const MAX_PRUNED: i64 = 1_000;

/// Which kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "document_", serialize_all = "snake_case")]
pub enum FailureKind {
    /// Nobody delivered the document.
    Unavailable,
    /// The bytes have another SHA-256.
    Mismatch,
    /// The bytes are the right ones and of no use.
    Invalid,
}

/// Keeps a document with its bytes as they were fetched, and gives its lease back. The caller has checked their SHA-256
/// and read them with [`Metadata::parse`]. A document that the database cannot hold is an error like any other failed
/// attempt; see [`store_failure`].
pub async fn store_document(
    pool: &PgPool,
    wanted: &Wanted,
    bytes: &[u8],
    document: &Value,
    metadata: &Metadata,
) -> Result<(), StoreError> {
    let agent = wanted.agent.to_string();
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!(
        "WITH stored AS (
             INSERT INTO agent_metadata (agent, sha256, uri, document, name, tagline, tags, endpoint, fetched_at,
                                         attempts, last_attempt, bytes)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now(), $9, now(), $10)
             ON CONFLICT (agent, sha256) DO UPDATE SET
                 uri = excluded.uri, document = excluded.document, name = excluded.name, tagline = excluded.tagline,
                 tags = excluded.tags, endpoint = excluded.endpoint, fetched_at = excluded.fetched_at, error = NULL,
                 error_code = NULL, attempts = excluded.attempts, next_attempt = NULL,
                 last_attempt = excluded.last_attempt, bytes = excluded.bytes)
         UPDATE mirror_agents SET name = $5, tagline = $6, tags = $7 WHERE address = $1 AND metadata_hash = $2",
        agent,
        wanted.sha256.as_slice(),
        wanted.uri,
        document,
        metadata.name,
        metadata.tagline,
        &metadata.tags,
        metadata.endpoint,
        next_count(wanted),
        bytes,
    )
    .execute(&mut *transaction)
    .await?;
    prune(&mut transaction, &agent).await?;
    document_claims::end(&mut *transaction, &wanted.agent).await?;
    transaction.commit().await?;
    Ok(())
}

/// A failed attempt, as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    pub kind: FailureKind,
    pub message: &'a str,
    pub retry_in: Duration,
}

/// Notes why there is no document and when to try again, and gives the lease back. A stored document stays.
pub async fn store_failure(pool: &PgPool, wanted: &Wanted, failure: Failure<'_>) -> Result<(), StoreError> {
    let agent = wanted.agent.to_string();
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!(
        "INSERT INTO agent_metadata AS m
             (agent, sha256, uri, error, error_code, attempts, next_attempt, last_attempt)
         VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7), now())
         ON CONFLICT (agent, sha256) DO UPDATE SET
             uri = excluded.uri, error = excluded.error, error_code = excluded.error_code,
             attempts = excluded.attempts, next_attempt = excluded.next_attempt, last_attempt = excluded.last_attempt
         WHERE m.error IS NOT NULL",
        agent,
        wanted.sha256.as_slice(),
        wanted.uri,
        without_nul(failure.message),
        failure.kind.into_str(),
        next_count(wanted),
        failure.retry_in.as_secs_f64(),
    )
    .execute(&mut *transaction)
    .await?;
    prune(&mut transaction, &agent).await?;
    document_claims::end(&mut *transaction, &wanted.agent).await?;
    transaction.commit().await?;
    Ok(())
}

fn next_count(wanted: &Wanted) -> i32 {
    i32::try_from(wanted.attempts.saturating_add(1)).unwrap_or(i32::MAX)
}

/// Deletes what no read of this agent shows: failures of documents that the listing no longer names, and all but the
/// newest earlier documents.
async fn prune(connection: &mut PgConnection, agent: &str) -> Result<(), StoreError> {
    sqlx::query!(
        "DELETE FROM agent_metadata m
         USING mirror_agents a
         WHERE m.agent = $1 AND a.address = m.agent AND m.sha256 <> a.metadata_hash
           AND (m.error IS NOT NULL
                OR m.sha256 NOT IN (SELECT k.sha256 FROM agent_metadata k
                                    WHERE k.agent = $1 AND k.error IS NULL AND k.sha256 <> a.metadata_hash
                                    ORDER BY k.fetched_at DESC, k.sha256 LIMIT $2))",
        agent,
        KEPT_EARLIER,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the documents of agents whose listings closed longer ago than `after`, some at a time. Name, tagline and
/// tags of the newest one stay, for executions and disputes: a closed listing locks no collateral that pays for more.
/// Returns how many it deleted.
pub async fn prune_closed(pool: &PgPool, after: Duration) -> Result<u64, StoreError> {
    let deleted = sqlx::query!(
        "DELETE FROM agent_metadata WHERE (agent, sha256) IN (
             SELECT d.agent, d.sha256
             FROM (SELECT m.agent, m.sha256,
                          row_number() OVER (PARTITION BY m.agent
                                             ORDER BY m.error IS NULL DESC, m.sha256 = a.metadata_hash DESC,
                                                      m.fetched_at DESC) AS place
                   FROM agent_metadata m JOIN mirror_agents a ON a.address = m.agent
                   WHERE a.closed_at_slot IS NOT NULL AND a.observed_at < now() - make_interval(secs => $1)) AS d
             WHERE d.place > 1
             LIMIT $2)",
        after.as_secs_f64(),
        MAX_PRUNED,
    )
    .execute(pool)
    .await?;
    sqlx::query!(
        "UPDATE agent_metadata SET document = '{}', bytes = NULL
         WHERE (agent, sha256) IN (
             SELECT m.agent, m.sha256
             FROM agent_metadata m JOIN mirror_agents a ON a.address = m.agent
             WHERE m.bytes IS NOT NULL AND a.closed_at_slot IS NOT NULL
               AND a.observed_at < now() - make_interval(secs => $1)
             LIMIT $2)",
        after.as_secs_f64(),
        MAX_PRUNED,
    )
    .execute(pool)
    .await?;
    Ok(deleted.rows_affected())
}

/// The document with that hash, if it has been fetched for that agent.
pub async fn document(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    sha256: &[u8; 32],
) -> Result<Option<Value>, StoreError> {
    let document = sqlx::query_scalar!(
        r#"SELECT document AS "document!" FROM agent_metadata
           WHERE agent = $1 AND sha256 = $2 AND document IS NOT NULL"#,
        agent.to_string(),
        sha256.as_slice(),
    );
    Ok(document.fetch_optional(executor).await?)
}
