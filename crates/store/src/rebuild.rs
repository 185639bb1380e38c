//! How far the rebuild of the mirror from past transactions is, and what it has found. `mirror_rebuild` and its tables.

use sqlx::{PgExecutor, PgPool};

use crate::{columns::Count, convert::amount_to_db, error::StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub genesis_hash: String,
    /// The newest transaction of the rounds before.
    pub known: Option<String>,
    /// The last transaction that this round listed.
    pub cursor: Option<String>,
    /// This round has listed all of its transactions.
    pub listed: bool,
    /// Transactions to read, and those that were read.
    pub transactions: u64,
    pub read: u64,
    pub closings: u64,
    pub is_finished: bool,
}

/// `None` if no rebuild was begun.
pub async fn progress(executor: impl PgExecutor<'_>) -> Result<Option<Progress>, StoreError> {
    let progress = sqlx::query_as!(
        Progress,
        r#"SELECT genesis_hash, known, cursor, listed, transactions AS "transactions: Count", read AS "read: Count",
                  closings AS "closings: Count",
                  finished_at IS NOT NULL AS "is_finished!" FROM mirror_rebuild"#
    );
    Ok(progress.fetch_optional(executor).await?)
}

/// Begins a rebuild, or goes on with one of the same chain.
pub async fn begin(pool: &PgPool, genesis_hash: &str) -> Result<(), StoreError> {
    sqlx::query!("INSERT INTO mirror_rebuild (genesis_hash) VALUES ($1) ON CONFLICT DO NOTHING", genesis_hash)
        .execute(pool)
        .await?;
    Ok(())
}

/// Keeps a page of the list, newest first. `all`: it was the last of this round.
pub async fn note_page(
    pool: &PgPool,
    signatures: &[String],
    first: Option<&str>,
    cursor: Option<&str>,
    all: bool,
) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH listed AS (
             INSERT INTO mirror_rebuild_transactions (signature)
             SELECT s.signature FROM unnest($1::text[]) WITH ORDINALITY AS s (signature, place) ORDER BY s.place)
         UPDATE mirror_rebuild SET
             newest = COALESCE(newest, $2), cursor = COALESCE($3, cursor), listed = $4,
             transactions = transactions + cardinality($1::text[])",
        signatures,
        first,
        cursor,
        all,
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// The oldest transactions that are not read yet, oldest first.
pub async fn next(executor: impl PgExecutor<'_>, limit: u32) -> Result<Vec<(i64, String)>, StoreError> {
    let rows = sqlx::query!(
        "SELECT position, signature FROM mirror_rebuild_transactions ORDER BY position DESC LIMIT $1",
        i64::from(limit),
    );
    Ok(rows.fetch_all(executor).await?.into_iter().map(|row| (row.position, row.signature)).collect())
}

/// Forgets transactions that were read, those from `oldest` to `newest`, which closed so many accounts.
pub async fn note_read(pool: &PgPool, (oldest, newest): (i64, i64), closings: u64) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH forgotten AS (DELETE FROM mirror_rebuild_transactions WHERE position BETWEEN $1 AND $2 RETURNING 1)
         UPDATE mirror_rebuild SET
             read = read + (SELECT count(*) FROM forgotten), closings = closings + $3",
        newest,
        oldest,
        amount_to_db("count", closings)?,
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// The next round lists what is newer than this one.
pub async fn end_round(executor: impl PgExecutor<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE mirror_rebuild SET
             known = COALESCE(newest, known), newest = NULL, cursor = NULL, listed = false"
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// Every closed account is known.
pub async fn finish(executor: impl PgExecutor<'_>) -> Result<(), StoreError> {
    sqlx::query!("UPDATE mirror_rebuild SET finished_at = now()").execute(executor).await?;
    Ok(())
}
