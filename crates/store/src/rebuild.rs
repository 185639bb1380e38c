//! How far the rebuild of the mirror from past transactions is, and what it has found. `mirror_rebuild` and its tables.

use sqlx::PgPool;

use crate::{Result, columns::Count, convert::amount_to_db, database::run};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuildProgress {
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
pub async fn progress(pool: &PgPool) -> Result<Option<RebuildProgress>> {
    let progress = sqlx::query_as!(
        RebuildProgress,
        r#"SELECT genesis_hash, known, cursor, listed, transactions AS "transactions: Count", read AS "read: Count",
                  closings AS "closings: Count",
                  finished_at IS NOT NULL AS "is_finished!" FROM mirror_rebuild"#
    );
    Ok(progress.fetch_optional(pool).await?)
}

/// Begins a rebuild, or goes on with one of the same chain.
pub async fn begin(pool: &PgPool, genesis_hash: &str) -> Result<()> {
    let statement =
        sqlx::query!("INSERT INTO mirror_rebuild (genesis_hash) VALUES ($1) ON CONFLICT DO NOTHING", genesis_hash);
    run(pool, statement).await
}

/// Keeps a page of the list, newest first. `all`: it was the last of this round.
pub async fn note_page(
    pool: &PgPool,
    signatures: &[String],
    first: Option<&str>,
    cursor: Option<&str>,
    all: bool,
) -> Result<()> {
    let statement = sqlx::query!(
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
    );
    run(pool, statement).await
}

/// The oldest transactions that are not read yet, oldest first.
pub async fn next(pool: &PgPool, limit: u32) -> Result<Vec<(i64, String)>> {
    let rows = sqlx::query!(
        "SELECT position, signature FROM mirror_rebuild_transactions ORDER BY position DESC LIMIT $1",
        i64::from(limit),
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(|row| (row.position, row.signature)).collect())
}

/// Forgets transactions that were read, those from `oldest` to `newest`, which closed so many accounts.
pub async fn note_read(pool: &PgPool, (oldest, newest): (i64, i64), closings: u64) -> Result<()> {
    let statement = sqlx::query!(
        "WITH forgotten AS (DELETE FROM mirror_rebuild_transactions WHERE position BETWEEN $1 AND $2 RETURNING 1)
         UPDATE mirror_rebuild SET
             read = read + (SELECT count(*) FROM forgotten), closings = closings + $3",
        newest,
        oldest,
        amount_to_db("count", closings)?,
    );
    run(pool, statement).await
}

/// The next round lists what is newer than this one.
pub async fn end_round(pool: &PgPool) -> Result<()> {
    let statement = sqlx::query!(
        "UPDATE mirror_rebuild SET
             known = COALESCE(newest, known), newest = NULL, cursor = NULL, listed = false"
    );
    run(pool, statement).await
}

/// Every closed account is known.
pub async fn finish(pool: &PgPool) -> Result<()> {
    run(pool, sqlx::query!("UPDATE mirror_rebuild SET finished_at = now()")).await
}
