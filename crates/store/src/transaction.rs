//! Database transactions that a cancelled caller cannot leave open.
//!
//! sqlx 0.9 sends no `ROLLBACK` if the future of `begin` is dropped before the server has answered. The connection then
//! returns to its pool inside an open transaction, and later statements of others are never committed. So this crate
//! opens transactions only with [`begin`] and [`begin_relaxed`], and pools check every connection that is returned
//! ([`is_idle`]).

use sqlx::{Connection, PgConnection, PgPool, Postgres, Row, Transaction};

use crate::error::StoreError;

/// Opens a transaction in a task of its own. If the caller is cancelled, the task drops a transaction that was fully
/// opened, and sqlx rolls that back.
pub async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    begin_with(pool, "BEGIN").await
}

/// The same for a transaction that can be done again from its source: its commit does not wait for the disk. After a
/// crash of the server, the newest of these commits may be lost, and then all later ones with them.
pub async fn begin_relaxed(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    begin_with(pool, "BEGIN; SET LOCAL synchronous_commit = off").await
}

async fn begin_with(pool: &PgPool, statement: &'static str) -> Result<Transaction<'static, Postgres>, StoreError> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin_with(statement).await }).await;
    Ok(begun.map_err(|_| sqlx::Error::WorkerCrashed)??)
}

/// Whether a connection is outside of any transaction. Pools call it after every use, so it is cheap: every answer of
/// the server has the state of the connection, and an empty statement is answered without parsing or planning.
///
/// sqlx shows that state only through `begin_with`, which fails when its statement leaves the connection outside of a
/// transaction. A transaction that the server has aborted counts as none here: it loses nothing silently, since it
/// refuses every statement, and [`answers_outside_transactions`] finds it.
pub async fn is_idle(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match connection.begin_with("").await {
        Err(sqlx::Error::BeginFailed) => Ok(true),
        Ok(_) | Err(sqlx::Error::InvalidSavePointStatement) => {
            tracing::error!("a database connection was returned inside an open transaction and is closed");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Whether the server answers and the connection is outside of any transaction. For a connection that was idle.
///
/// One simple query runs in a transaction of its own, which begins when the statement does. Inside an open
/// transaction, the transaction began earlier; inside an aborted one, the query fails.
pub async fn answers_outside_transactions(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::raw_sql("SELECT transaction_timestamp() = statement_timestamp()").fetch_one(connection).await?;
    row.try_get(0)
}
