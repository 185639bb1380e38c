//! What a PostgreSQL server says about its own work, for benchmarks: views of the system, whose columns
//! differ between versions and which therefore no checked query can name.

use std::collections::BTreeMap;

use sqlx::PgPool;

use crate::error::StoreError;

/// Counted since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerWork {
    /// Transactions committed in this database.
    pub commits: i64,
    /// Times the log was flushed to the disk; none where the server does not count them there.
    pub wal_syncs: Option<i64>,
    /// Bytes written to the log.
    pub wal_bytes: Option<i64>,
}

/// The counters now. Sessions report to them with a delay of about a second.
pub async fn work(pool: &PgPool) -> Result<ServerWork, StoreError> {
    let (commits, wal_syncs, wal_bytes) = sqlx::query_as(
        "SELECT d.xact_commit,
                (to_jsonb(w) ->> 'wal_sync')::bigint,
                (to_jsonb(w) ->> 'wal_bytes')::numeric::bigint
         FROM pg_stat_database d, pg_stat_wal w
         WHERE d.datname = current_database()",
    )
    .fetch_one(pool)
    .await?;
    Ok(ServerWork { commits, wal_syncs, wal_bytes })
}

/// The settings that make a commit outlive a power failure, each with its value; empty if all are on.
pub async fn undurable_settings(pool: &PgPool) -> Result<Vec<(String, String)>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT name, setting FROM pg_settings
         WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting <> 'on'",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Sessions that are in the middle of a statement, by what they wait for, as `Lock:transactionid`; `running` if for nothing.
pub async fn active_sessions(pool: &PgPool) -> Result<BTreeMap<String, i64>, StoreError> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT coalesce(wait_event_type || ':' || wait_event, 'running'), count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() GROUP BY 1",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Bytes of each table, with its indexes.
pub async fn table_sizes(pool: &PgPool) -> Result<BTreeMap<String, i64>, StoreError> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT relname::text, pg_total_relation_size(oid) FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().collect())
}
