//! What the mirror holds, and what was written to get there, for benchmarks of the indexer.

use std::{
    collections::{BTreeMap, HashMap},
    time::SystemTime,
};

use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// Rows inserted, updated and deleted so far, by table.
///
/// # Panics
/// When the database refuses.
pub async fn rows_written(pool: &PgPool) -> BTreeMap<String, i64> {
    let query = "SELECT relname::text, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables";
    let rows: Vec<(String, i64)> = sqlx::query_as(query).fetch_all(pool).await.expect("the counters are read");
    rows.into_iter().collect()
}

/// The revisions of these executions and listings.
///
/// # Panics
/// When the database refuses.
pub async fn revisions(pool: &PgPool, addresses: &[String]) -> HashMap<String, u32> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT address, revision FROM mirror_executions WHERE address = ANY ($1)
         UNION ALL SELECT address, revision FROM mirror_agents WHERE address = ANY ($1)",
    )
    .bind(addresses)
    .fetch_all(pool)
    .await
    .expect("revisions are read");
    rows.into_iter().map(|(address, revision)| (address, revision as u32)).collect()
}

/// How many accounts there are, and their revisions added up.
///
/// # Panics
/// When the database refuses.
pub async fn count_and_revisions(pool: &PgPool) -> (i64, i64) {
    sqlx::query_as(
        "SELECT count(*), COALESCE(sum(revision), 0)::bigint
         FROM (SELECT revision FROM mirror_config WHERE closed_at_slot IS NULL
               UNION ALL SELECT revision FROM mirror_creators WHERE closed_at_slot IS NULL
               UNION ALL SELECT revision FROM mirror_agents WHERE closed_at_slot IS NULL
               UNION ALL SELECT revision FROM mirror_executions WHERE closed_at_slot IS NULL) AS accounts",
    )
    .fetch_one(pool)
    .await
    .expect("accounts are counted")
}

/// Whether an audit has ended after a moment.
///
/// # Panics
/// When the database refuses.
pub async fn audited_after(pool: &PgPool, moment: SystemTime) -> bool {
    let query = "SELECT COALESCE((SELECT at > $1 FROM indexer_audit), false)";
    let moment = DateTime::<Utc>::from(moment);
    sqlx::query_scalar(query).bind(moment).fetch_one(pool).await.expect("the audit's time is read")
}

/// Accounts whose finalized state is noted: the mirror digest is over these.
///
/// # Panics
/// When the database refuses.
pub async fn final_accounts(pool: &PgPool) -> i64 {
    let query = "SELECT count(*) FROM mirror_final_accounts WHERE data_hash IS NOT NULL";
    sqlx::query_scalar(query).fetch_one(pool).await.expect("finalized accounts are counted")
}

/// Documents of listings that were fetched.
///
/// # Panics
/// When the database refuses.
pub async fn documents(pool: &PgPool) -> i64 {
    let query = "SELECT count(*) FROM mirror_agents WHERE name IS NOT NULL";
    sqlx::query_scalar(query).fetch_one(pool).await.expect("documents are counted")
}
