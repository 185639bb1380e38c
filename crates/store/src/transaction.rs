//! Database transactions that a cancelled caller cannot leave open.
//!
//! sqlx 0.9 sends no `ROLLBACK` if the future of `begin` is dropped before the server has answered. The connection then
//! returns to its pool inside an open transaction, and later statements of others are never committed. So transactions
//! are opened only with [`begin`] and [`begin_relaxed`]; `clippy.toml` refuses sqlx's own methods. A check of every
//! returned connection would cost each statement a second answer of the server.

use sqlx::{PgConnection, PgPool, Postgres, Row, Transaction};

use crate::Result;

/// Opens a transaction in a task of its own. If the caller is cancelled, the task drops a transaction that was fully
/// opened, and sqlx rolls that back.
pub async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>> {
    begin_with(pool, "BEGIN").await
}

/// The same for a transaction that can be done again from its source: its commit does not wait for the disk. After a
/// crash of the server, the newest of these commits may be lost, and then all later ones with them.
pub async fn begin_relaxed(pool: &PgPool) -> Result<Transaction<'static, Postgres>> {
    begin_with(pool, "BEGIN; SET LOCAL synchronous_commit = off").await
}

async fn begin_with(pool: &PgPool, statement: &'static str) -> Result<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    #[expect(clippy::disallowed_methods, reason = "in a task that nobody cancels")]
    let begun = tokio::spawn(async move { pool.begin_with(statement).await }).await;
    Ok(begun.map_err(|_| sqlx::Error::WorkerCrashed)??)
}

/// Whether the server answers and the connection is outside of any transaction. For a connection that was idle.
///
/// One simple query runs in a transaction of its own, which begins when the statement does. Inside an open
/// transaction, the transaction began earlier; inside an aborted one, the query fails.
pub async fn answers_outside_transactions(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::raw_sql("SELECT transaction_timestamp() = statement_timestamp()").fetch_one(connection).await?;
    row.try_get(0)
}
