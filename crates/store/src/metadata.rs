//! Metadata documents of listings: which process fetches which one, by leases that are shared fairly between creators and
//! hosts; what was fetched, why it was not, and what is pruned.

use std::time::Duration;

use crtx_protocol::{metadata::Metadata, text::without_nul};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::{Result, columns::Base58, database::run, transaction};

/// Key of the advisory lock: one process at a time claims.
const CLAIMS_LOCK: i64 = 0x6372_7478_0000_0016;
/// Documents of an agent that are kept in addition to the one that its listing names: reads name an agent after its
/// newest document while the next one is fetched, and a creator may return to an earlier one. Their content is held too
/// (`is_of_listing` in `migrations/0007_content.sql`).
const KEPT_EARLIER: i64 = 9;
/// Documents that one call of [`prune_closed`] deletes.
const MAX_PRUNED: i64 = 1_000;

/// A document that a listing names and that is not fetched yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedDocument {
    pub agent: Pubkey,
    pub creator: Pubkey,
    pub sha256: [u8; 32],
    pub uri: String,
    /// Attempts that failed so far, with this hash and URI.
    pub attempts: i32,
}

/// How much a process takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimLimits {
    /// Documents that were never tried.
    pub fresh: u32,
    /// Documents whose fetch failed before.
    pub retries: u32,
    /// Leases of one creator, in all processes.
    pub per_creator: u32,
    /// Leases on one host that a creator has chosen, in all processes.
    pub per_host: u32,
    /// Leases of content by its hash, in all processes. Where it is read, the operator has chosen.
    pub of_content: u32,
    /// After this time another process may take the document.
    pub lease: Duration,
}

/// Takes documents that are due: those of shown listings without one, unless a process has them or the next attempt is
/// later. Every creator and host gets its first document before another gets its second, so the order of the result
/// and its limits leave out nobody because of another. Empty while another process claims.
pub async fn claim(pool: &PgPool, holder: Uuid, limits: ClaimLimits) -> Result<Vec<WantedDocument>> {
    let mut transaction = transaction::begin(pool).await?;
    let alone = sqlx::query_scalar!(r#"SELECT pg_try_advisory_xact_lock($1) AS "locked!""#, CLAIMS_LOCK);
    if !alone.fetch_one(&mut *transaction).await? {
        return Ok(Vec::new());
    }
    // A row is ranked on its host only if it is within the limit of its creator: otherwise the many documents of one
    // creator would use up the ranks of a host that others use, too.
    let rows = sqlx::query_as!(
        WantedDocument,
        r#"WITH leased AS (
               SELECT agent, creator, host FROM document_leases WHERE until > now()
           ),
           due AS (
               SELECT a.address, a.creator, document_host(a.metadata_uri) AS host, a.metadata_hash, a.metadata_uri,
                      CASE WHEN m.uri = a.metadata_uri THEN m.attempts ELSE 0 END AS attempts
               FROM mirror_agents a
               LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
               WHERE a.name IS NULL AND a.closed_at_slot IS NULL
                 AND a.status IN (agent_status('active'), agent_status('paused'))
                 AND (m.error IS NULL OR m.next_attempt <= now() OR m.uri <> a.metadata_uri)
                 AND NOT EXISTS (SELECT FROM leased l WHERE l.agent = a.address)
           ),
           of_creators AS (
               SELECT due.*, row_number() OVER (PARTITION BY due.creator ORDER BY due.attempts, due.address)
                             + COALESCE(held.leases, 0) AS of_creator
               FROM due
               LEFT JOIN (SELECT creator, count(*) AS leases FROM leased GROUP BY creator) AS held
                   ON held.creator = due.creator
           ),
           of_hosts AS (
               SELECT c.*, row_number() OVER (PARTITION BY c.host ORDER BY c.of_creator, c.attempts, c.address)
                           + COALESCE(held.leases, 0) AS of_host
               FROM of_creators c
               LEFT JOIN (SELECT host, count(*) AS leases FROM leased GROUP BY host) AS held ON held.host = c.host
               WHERE c.of_creator <= $3
           ),
           ranked AS (
               SELECT h.*, row_number() OVER (PARTITION BY h.attempts > 0
                                              ORDER BY h.of_creator, h.of_host, h.attempts, h.address) AS place
               FROM of_hosts h WHERE h.of_host <= CASE h.host WHEN 'ipfs' THEN $7::bigint ELSE $4::bigint END
           ),
           claimed AS (
               INSERT INTO document_leases AS t (agent, creator, host, holder, until)
               SELECT address, creator, host, $1, now() + make_interval(secs => $2) FROM ranked
               WHERE place <= CASE WHEN attempts > 0 THEN $6::bigint ELSE $5::bigint END
               ON CONFLICT (agent) DO UPDATE SET
                   creator = excluded.creator, host = excluded.host, holder = excluded.holder, until = excluded.until
               RETURNING t.agent
           )
           SELECT r.address AS "agent: Base58", r.creator AS "creator: Base58", r.metadata_hash AS "sha256: [u8; 32]",
                  r.metadata_uri AS uri, r.attempts AS "attempts!"
           FROM ranked r JOIN claimed ON claimed.agent = r.address
           ORDER BY r.attempts > 0, r.place"#,
        holder,
        limits.lease.as_secs_f64(),
        i64::from(limits.per_creator),
        i64::from(limits.per_host),
        i64::from(limits.fresh),
        i64::from(limits.retries),
        i64::from(limits.of_content),
    );
    let rows = rows.fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(rows)
}

/// Gives back everything that a process holds, and removes leases that were over long ago.
pub async fn release_all(db: impl PgExecutor<'_>, holder: Uuid) -> Result<()> {
    let statement =
        sqlx::query!("DELETE FROM document_leases WHERE holder = $1 OR until < now() - interval '1 day'", holder);
    run(db, statement).await
}

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
    wanted: &WantedDocument,
    bytes: &[u8],
    document: &Value,
    metadata: &Metadata,
) -> Result<()> {
    let agent = wanted.agent.to_string();
    let mut transaction = transaction::begin(pool).await?;
    let statement = sqlx::query!(
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
        wanted.attempts.saturating_add(1),
        bytes,
    );
    statement.execute(&mut *transaction).await?;
    end_attempt(transaction, &agent).await
}

/// A failed attempt, as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct FetchFailure<'a> {
    pub kind: FailureKind,
    pub message: &'a str,
    pub retry_in: Duration,
}

/// Notes why there is no document and when to try again, and gives the lease back. A stored document stays.
pub async fn store_failure(pool: &PgPool, wanted: &WantedDocument, failure: FetchFailure<'_>) -> Result<()> {
    let agent = wanted.agent.to_string();
    let mut transaction = transaction::begin(pool).await?;
    let statement = sqlx::query!(
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
        wanted.attempts.saturating_add(1),
        failure.retry_in.as_secs_f64(),
    );
    statement.execute(&mut *transaction).await?;
    end_attempt(transaction, &agent).await
}

/// Ends the lease of a document whose fetch is over, also one of another process. Deletes what no read of this agent shows:
/// failures of documents that the listing no longer names, and all but the newest earlier documents.
async fn end_attempt(mut transaction: Transaction<'_, Postgres>, agent: &str) -> Result<()> {
    let statement = sqlx::query!(
        "WITH ended AS (DELETE FROM document_leases WHERE agent = $1)
         DELETE FROM agent_metadata m
         USING mirror_agents a
         WHERE m.agent = $1 AND a.address = m.agent AND m.sha256 <> a.metadata_hash
           AND (m.error IS NOT NULL
                OR m.sha256 NOT IN (SELECT k.sha256 FROM agent_metadata k
                                    WHERE k.agent = $1 AND k.error IS NULL AND k.sha256 <> a.metadata_hash
                                    ORDER BY k.fetched_at DESC, k.sha256 LIMIT $2))",
        agent,
        KEPT_EARLIER,
    );
    statement.execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

/// Deletes the documents of agents whose listings closed longer ago than `after`, some at a time. Name, tagline and
/// tags of the newest one stay, for executions and disputes: a closed listing locks no collateral that pays for more.
/// Returns how many it deleted.
pub async fn prune_closed(pool: &PgPool, after: Duration) -> Result<u64> {
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
    );
    let deleted = deleted.execute(pool).await?;
    let statement = sqlx::query!(
        "UPDATE agent_metadata SET document = '{}', bytes = NULL
         WHERE (agent, sha256) IN (
             SELECT m.agent, m.sha256
             FROM agent_metadata m JOIN mirror_agents a ON a.address = m.agent
             WHERE m.bytes IS NOT NULL AND a.closed_at_slot IS NOT NULL
               AND a.observed_at < now() - make_interval(secs => $1)
             LIMIT $2)",
        after.as_secs_f64(),
        MAX_PRUNED,
    );
    statement.execute(pool).await?;
    Ok(deleted.rows_affected())
}

/// The document with that hash, if it has been fetched for that agent.
pub async fn document(db: impl PgExecutor<'_>, agent: &Pubkey, sha256: &[u8; 32]) -> Result<Option<Value>> {
    let document = sqlx::query_scalar!(
        r#"SELECT document AS "document!" FROM agent_metadata
           WHERE agent = $1 AND sha256 = $2 AND document IS NOT NULL"#,
        agent.to_string(),
        sha256.as_slice(),
    );
    Ok(document.fetch_optional(db).await?)
}
