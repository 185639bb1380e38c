//! How far the rebuild of the mirror from past transactions is, and what it has found. `mirror_rebuild` and its tables.

use sqlx::{PgConnection, PgExecutor, PgPool};

use crate::{columns::Count, convert::amount_to_db, error::StoreError, transaction};

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
    pub openings: u64,
    pub is_finished: bool,
}

/// `None` if no rebuild was begun.
pub async fn progress(executor: impl PgExecutor<'_>) -> Result<Option<Progress>, StoreError> {
    let progress = sqlx::query_as!(
        Progress,
        r#"SELECT genesis_hash, known, cursor, listed, transactions AS "transactions: Count", read AS "read: Count",
                  closings AS "closings: Count", openings AS "openings: Count",
                  finished_at IS NOT NULL AS "is_finished!" FROM mirror_rebuild"#
    );
    Ok(progress.fetch_optional(executor).await?)
}

/// Begins a rebuild, or goes on with one of the same chain. `settle_grace_s`: before the first configuration.
pub async fn begin(pool: &PgPool, genesis_hash: &str, settle_grace_s: i64) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO mirror_rebuild (genesis_hash, settle_grace_s) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        genesis_hash,
        settle_grace_s,
    )
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
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!(
        "INSERT INTO mirror_rebuild_transactions (signature)
         SELECT s.signature FROM unnest($1::text[]) WITH ORDINALITY AS s (signature, place) ORDER BY s.place",
        signatures,
    )
    .execute(&mut *transaction)
    .await?;
    sqlx::query!(
        "UPDATE mirror_rebuild SET
             newest = COALESCE(newest, $1), cursor = COALESCE($2, cursor), listed = $3,
             transactions = transactions + $4, updated_at = now()",
        first,
        cursor,
        all,
        i64::try_from(signatures.len()).unwrap_or(i64::MAX),
    )
    .execute(&mut *transaction)
    .await?;
    Ok(transaction.commit().await?)
}

/// The oldest transactions that are not read yet, oldest first.
pub async fn next(executor: impl PgExecutor<'_>, limit: u32) -> Result<Vec<(i64, String)>, StoreError> {
    let rows = sqlx::query!(
        "SELECT position, signature FROM mirror_rebuild_transactions ORDER BY position DESC LIMIT $1",
        i64::from(limit),
    );
    Ok(rows.fetch_all(executor).await?.into_iter().map(|row| (row.position, row.signature)).collect())
}

/// What was found in transactions that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub closings: u64,
    pub openings: u64,
}

/// Forgets transactions that were read: those from `oldest` to `newest`.
pub async fn note_read(
    connection: &mut PgConnection,
    (oldest, newest): (i64, i64),
    found: Found,
) -> Result<(), StoreError> {
    let read =
        sqlx::query!("DELETE FROM mirror_rebuild_transactions WHERE position BETWEEN $1 AND $2", newest, oldest,);
    let read = read.execute(&mut *connection).await?.rows_affected();
    sqlx::query!(
        "UPDATE mirror_rebuild SET
             read = read + $1, closings = closings + $2, openings = openings + $3, updated_at = now()",
        amount_to_db("count", read)?,
        amount_to_db("count", found.closings)?,
        amount_to_db("count", found.openings)?,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The next round lists what is newer than this one.
pub async fn end_round(executor: impl PgExecutor<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE mirror_rebuild SET
             known = COALESCE(newest, known), newest = NULL, cursor = NULL, listed = false, updated_at = now()"
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// Every closed account is known.
pub async fn finish(executor: impl PgExecutor<'_>) -> Result<(), StoreError> {
    sqlx::query!("UPDATE mirror_rebuild SET finished_at = now(), updated_at = now()").execute(executor).await?;
    Ok(())
}

/// What an opening says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub record: String,
    pub agent: String,
    pub request_hash: [u8; 32],
    pub grant: Option<String>,
    pub paid_from: String,
}

/// What a transaction says about the open terms of executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// An execution has its open terms, with those of the listing and the configuration at this place of the walk.
    Opening(Opening),
    /// A listing has these terms from here on; `None`: as before.
    Terms { agent: String, result_key: Option<String>, timeout_seconds: Option<u32> },
    /// The configuration has this grace from here on.
    Grace(i64),
    /// This grace is announced; `None`: the announcement is withdrawn.
    AnnouncedGrace(Option<i64>),
    /// What was announced takes effect.
    GraceApplies,
}

/// Keeps a fact. They come in the order of the chain.
pub async fn store_fact(connection: &mut PgConnection, fact: &Fact) -> Result<(), StoreError> {
    let query = match fact {
        Fact::Opening(opening) => return store_opening(connection, opening).await,
        Fact::Terms { agent, result_key, timeout_seconds } => {
            sqlx::query!(
                "INSERT INTO mirror_rebuild_terms AS t (agent, result_key, timeout_seconds) VALUES ($1, $2, $3)
                 ON CONFLICT (agent) DO UPDATE SET
                     result_key = COALESCE(excluded.result_key, t.result_key),
                     timeout_seconds = COALESCE(excluded.timeout_seconds, t.timeout_seconds)",
                agent,
                result_key.as_deref(),
                timeout_seconds.map(i64::from),
            )
        }
        Fact::Grace(seconds) => sqlx::query!("UPDATE mirror_rebuild SET settle_grace_s = $1", seconds),
        Fact::AnnouncedGrace(seconds) => sqlx::query!("UPDATE mirror_rebuild SET announced_grace_s = $1", *seconds),
        Fact::GraceApplies => sqlx::query!(
            "UPDATE mirror_rebuild SET
                 settle_grace_s = COALESCE(announced_grace_s, settle_grace_s), announced_grace_s = NULL"
        ),
    };
    query.execute(connection).await?;
    Ok(())
}

async fn store_opening(connection: &mut PgConnection, opening: &Opening) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO mirror_rebuild_openings
             (record, request_hash, grant_address, paid_from, result_key, timeout_seconds, settle_grace_s)
         SELECT $1, $2, $3, $4, t.result_key, t.timeout_seconds, r.settle_grace_s
         FROM mirror_rebuild r LEFT JOIN mirror_rebuild_terms t ON t.agent = $5
         ON CONFLICT (record) DO UPDATE SET
             request_hash = excluded.request_hash, grant_address = excluded.grant_address,
             paid_from = excluded.paid_from, result_key = excluded.result_key,
             timeout_seconds = excluded.timeout_seconds, settle_grace_s = excluded.settle_grace_s",
        opening.record,
        opening.request_hash.as_slice(),
        opening.grant,
        opening.paid_from,
        opening.agent,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives rows that have no open terms those of their opening, in the order of the records. Returns the last record;
/// `None` if there are no more.
pub async fn fill_terms(pool: &PgPool, after: &str, limit: u32) -> Result<Option<String>, StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    let records = sqlx::query_scalar!(
        "SELECT record FROM mirror_rebuild_openings WHERE record > $1 ORDER BY record LIMIT $2",
        after,
        i64::from(limit),
    )
    .fetch_all(&mut *transaction)
    .await?;
    sqlx::query!(
        "UPDATE mirror_executions m SET
             request_hash = o.request_hash, grant_address = o.grant_address, paid_from = o.paid_from,
             result_key = o.result_key, timeout_seconds = o.timeout_seconds,
             deadline_at = m.opened_at + make_interval(secs => o.timeout_seconds + o.settle_grace_s)
         FROM mirror_rebuild_openings o
         WHERE o.record = ANY($1) AND m.address = o.record AND m.deadline_at IS NULL AND o.timeout_seconds IS NOT NULL
             AND o.settle_grace_s IS NOT NULL AND m.status <> record_status('open')",
        &records,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(records.last().cloned())
}
