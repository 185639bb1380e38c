//! Database transactions that a cancelled caller cannot leave open.
//!
//! sqlx 0.9 sends no `ROLLBACK` when the future of `begin` is dropped before the server has answered: the
//! connection goes back to its pool inside an open transaction, and later statements of others are never
//! committed. [`begin`] is therefore the only way in which this crate opens a transaction. Pools check every
//! connection that comes back as well ([`is_idle`]).

use sqlx::{PgConnection, PgPool, Postgres, Row, Transaction};

use crate::StoreError;

/// Opens a transaction in a task of its own: a caller that is cancelled meanwhile drops a transaction that is
/// complete, and sqlx rolls that back.
pub async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin().await }).await;
    Ok(begun.map_err(|_| sqlx::Error::WorkerCrashed)??)
}

/// Whether a connection is outside of any transaction. For a pool's `after_release`.
///
/// One simple query runs in a transaction of its own, which begins when the statement does. Inside an open
/// transaction, the transaction began earlier.
pub async fn is_idle(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::raw_sql("SELECT transaction_timestamp() = statement_timestamp()").fetch_one(connection).await?;
    let idle: bool = row.try_get(0)?;
    if !idle {
        tracing::error!("a database connection came back inside an open transaction and is closed");
    }
    Ok(idle)
}
