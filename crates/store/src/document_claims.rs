//! Which process fetches which metadata document: leases in `document_leases`, shared fairly between creators and hosts.

use std::time::Duration;

use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool};
use uuid::Uuid;

use crate::{columns::Base58, error::StoreError, transaction};

/// Key of the advisory lock: one process at a time claims.
const LOCK: i64 = 0x6372_7478_0000_0016;

/// A document that a listing names and that is not fetched yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub agent: Pubkey,
    pub sha256: [u8; 32],
    pub uri: String,
    /// Attempts that failed so far, with this hash and URI.
    pub attempts: u32,
}

/// A document that a process has a lease for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub wanted: Wanted,
    pub creator: Pubkey,
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
pub async fn claim(pool: &PgPool, holder: Uuid, limits: ClaimLimits) -> Result<Vec<Claimed>, StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    let alone = sqlx::query_scalar!(r#"SELECT pg_try_advisory_xact_lock($1) AS "locked!""#, LOCK);
    if !alone.fetch_one(&mut *transaction).await? {
        return Ok(Vec::new());
    }
    // A row is ranked on its host only if it is within the limit of its creator: otherwise the many documents of one
    // creator would use up the ranks of a host that others use, too.
    let rows = sqlx::query!(
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
                  r.metadata_uri, r.attempts AS "attempts!"
           FROM ranked r JOIN claimed ON claimed.agent = r.address
           ORDER BY r.attempts > 0, r.place"#,
        holder,
        limits.lease.as_secs_f64(),
        i64::from(limits.per_creator),
        i64::from(limits.per_host),
        i64::from(limits.fresh),
        i64::from(limits.retries),
        i64::from(limits.of_content),
    )
    .fetch_all(&mut *transaction)
    .await?;
    transaction.commit().await?;
    let claimed = rows.into_iter().map(|row| {
        let (agent, attempts) = (row.agent.into(), row.attempts.unsigned_abs());
        let wanted = Wanted { agent, sha256: row.sha256, uri: row.metadata_uri, attempts };
        Claimed { wanted, creator: row.creator.into() }
    });
    Ok(claimed.collect())
}

/// Ends the lease of a document whose fetch is over, also of another process. What to do next is in `agent_metadata`.
pub(crate) async fn end(executor: impl PgExecutor<'_>, agent: &Pubkey) -> Result<(), StoreError> {
    sqlx::query!("DELETE FROM document_leases WHERE agent = $1", agent.to_string()).execute(executor).await?;
    Ok(())
}

/// Gives back everything that a process holds, and removes leases that were over long ago.
pub async fn release_all(executor: impl PgExecutor<'_>, holder: Uuid) -> Result<(), StoreError> {
    sqlx::query!("DELETE FROM document_leases WHERE holder = $1 OR until < now() - interval '1 day'", holder)
        .execute(executor)
        .await?;
    Ok(())
}
