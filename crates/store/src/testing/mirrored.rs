//! What the tables of the mirror hold, for tests that compare them with a chain.
#![allow(missing_docs, reason = "the names say it")]

use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

/// Every account that the mirror has a row of, closed ones among them.
pub async fn known_accounts(pool: &PgPool) -> Vec<Pubkey> {
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT address FROM mirror_accounts").fetch_all(pool).await.expect("the rows");
    rows.iter().map(|address| address.parse().expect("an address")).collect()
}

/// Settled executions that the totals of callers do not count, or count without a row.
pub async fn uncounted_executions(pool: &PgPool) -> i64 {
    sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM mirror_executions WHERE status IN (2, 5, 6))
              - (SELECT COALESCE(sum(completed), 0) FROM mirror_agent_callers)::bigint",
    )
    .fetch_one(pool)
    .await
    .expect("the totals")
}

pub async fn quarantined(pool: &PgPool) -> Vec<(Pubkey, String)> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT address, error FROM mirror_quarantine").fetch_all(pool).await.expect("the quarantine");
    rows.into_iter().map(|(address, error)| (address.parse().expect("an address"), error)).collect()
}

/// The status of a closed execution.
pub async fn closed_status(pool: &PgPool, record: &Pubkey) -> Option<i16> {
    sqlx::query_scalar("SELECT status FROM mirror_executions WHERE address = $1 AND closed_at_slot IS NOT NULL")
        .bind(record.to_string())
        .fetch_optional(pool)
        .await
        .expect("read")
}

/// Where each row of an execution is stored, and which transaction wrote it.
pub async fn row_versions(pool: &PgPool) -> String {
    let versions = "SELECT COALESCE(string_agg(xmin::text || xmax::text || ctid::text, ',' ORDER BY address), '') FROM mirror_executions";
    sqlx::query_scalar(versions).fetch_one(pool).await.expect("the rows")
}

/// From now on the database refuses records that took 1 200 ms.
pub async fn refuse_executions_of_1200_ms(pool: &PgPool) {
    sqlx::query("ALTER TABLE mirror_executions ADD CONSTRAINT refused CHECK (execution_time_ms <> 1200)")
        .execute(pool)
        .await
        .expect("the constraint");
}

/// Locks the row of a record. A writer of it waits for the end of the transaction.
pub async fn lock_execution(pool: &PgPool, record: &Pubkey) -> Transaction<'static, Postgres> {
    let mut transaction = crate::transaction::begin(pool).await.expect("a transaction");
    sqlx::query("SELECT FROM mirror_executions WHERE address = $1 FOR UPDATE")
        .bind(record.to_string())
        .execute(&mut *transaction)
        .await
        .expect("the lock");
    transaction
}

/// Runs a statement in a transaction.
pub async fn execute_in(transaction: &mut Transaction<'static, Postgres>, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut **transaction).await.map(drop)
}

/// Ends the connections that hold advisory locks.
pub async fn cut_lock_holders(pool: &PgPool) {
    sqlx::query(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
    .execute(pool)
    .await
    .expect("the connections end");
}
