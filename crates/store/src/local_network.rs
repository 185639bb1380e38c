//! For a local network that lost its last blocks or all its data: makes the database agree with that chain. Other
//! chains only grow and need nothing of this.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::PgPool;

use crate::{
    Result,
    columns::Base58,
    mirror::{self, Batch},
    transaction,
};

/// How many of the gateway's rows [`realign`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realigned {
    /// The chain has never had their record: they are failed now.
    pub lost: u64,
    /// Their record is open again: a worker settles or refunds them again.
    pub reopened: u64,
}

/// The chain after it was rolled back.
#[derive(Clone, Copy, Debug)]
pub struct ChainNow<'a> {
    /// All accounts of the program.
    pub snapshot: &'a Batch,
    /// Addresses of the execution records that are open.
    pub open: &'a [Pubkey],
    /// Accounts of the database that no transaction of this chain names.
    pub lost: &'a [Pubkey],
    /// The database's time before the chain was read ([`database_time`]). An execution that was finished later is not
    /// changed: another gateway may have finished it after the read.
    pub read_after: DateTime<Utc>,
}

/// The time of the clock that dates rows.
pub async fn database_time(pool: &PgPool) -> Result<DateTime<Utc>> {
    Ok(sqlx::query_scalar!(r#"SELECT now() AS "now!""#).fetch_one(pool).await?)
}

/// Accounts of the database, closed ones among them, that are not `present` on the chain. Each one was closed or is
/// lost; the chain's history shows which.
pub async fn unaccounted(pool: &PgPool, present: &[Pubkey]) -> Result<Vec<Pubkey>> {
    let present: Vec<String> = present.iter().map(Pubkey::to_string).collect();
    let unaccounted = sqlx::query_scalar!(
        r#"SELECT known.address AS "address!: Base58" FROM (
               SELECT address FROM mirror_accounts
               UNION SELECT record FROM executions
                   WHERE opened_at IS NOT NULL AND (state <> 'failed' OR error_code IS DISTINCT FROM 'unavailable')
           ) known
           LEFT JOIN unnest($1::text[]) AS there (address) USING (address)
           WHERE there.address IS NULL"#,
        &present,
    );
    Ok(unaccounted.fetch_all(pool).await?.into_iter().map(Pubkey::from).collect())
}

/// Makes the gateway's rows and the mirror agree with the chain, in one transaction. Only what the chain has lost
/// changes. Nothing else may change the rows at the same time.
pub async fn realign(pool: &PgPool, chain: &ChainNow<'_>) -> Result<Realigned> {
    let text = |addresses: &[Pubkey]| addresses.iter().map(Pubkey::to_string).collect::<Vec<_>>();
    let (lost, open) = (text(chain.lost), text(chain.open));
    let mut transaction = transaction::begin(pool).await?;
    mirror::roll_back(&mut transaction, chain.snapshot, chain.lost).await?;
    let lost = sqlx::query_scalar!(
        r#"WITH gone AS (
               SELECT record FROM executions
               WHERE opened_at IS NOT NULL AND record = ANY ($1)
                 AND (state <> 'failed' OR error_code IS DISTINCT FROM 'unavailable')
               FOR UPDATE),
           failed AS (
               UPDATE executions
               SET state = 'failed', error_status = 503, error_code = 'unavailable',
                   error_message = 'the local network lost this execution; nothing was charged',
                   finished_at = COALESCE(finished_at, now()), settled_elsewhere = false,
                   lease_owner = NULL, lease_until = NULL, lease_process = NULL
               WHERE record IN (SELECT record FROM gone))
           SELECT count(*) AS "rows!" FROM gone"#,
        &lost,
    );
    let lost = lost.fetch_one(&mut *transaction).await?;
    let reopened = sqlx::query_scalar!(
        r#"WITH open AS (
               SELECT record, result IS NOT NULL AND state <> 'failed' AS settles FROM executions
               WHERE record = ANY ($1)
                 AND (state = 'settling' OR state IN ('completed', 'failed') AND finished_at < $2)
               FOR UPDATE),
           changed AS (
               UPDATE executions e
               SET state = CASE WHEN open.settles THEN 'result_stored' ELSE 'refunding' END,
                   error_status = CASE WHEN open.settles THEN NULL ELSE COALESCE(e.error_status, 500) END,
                   error_code = CASE WHEN open.settles THEN NULL ELSE COALESCE(e.error_code, 'execution_failed') END,
                   error_message = CASE WHEN open.settles THEN NULL ELSE COALESCE(e.error_message,
                       'the local network lost the settlement of this execution') END,
                   failure_reason = CASE WHEN open.settles THEN NULL
                       ELSE COALESCE(e.failure_reason, failure_reason('invalid_response')) END,
                   opened_at = COALESCE(e.opened_at, now()), finished_at = NULL,
                   settled_elsewhere = false, lease_owner = NULL, lease_until = NULL, lease_process = NULL
               FROM open WHERE e.record = open.record)
           SELECT count(*) AS "rows!" FROM open"#,
        &open,
        chain.read_after,
    );
    let reopened = reopened.fetch_one(&mut *transaction).await?;
    // What is open again is counted for its API key when it finishes again.
    let statement = sqlx::query!(
        "UPDATE api_keys k SET execution_count = of_key.ended, spent = of_key.spent
         FROM (SELECT session_key, caller, count(*) FILTER (WHERE finished_at IS NOT NULL) AS ended,
                      COALESCE(sum(charged_amount) FILTER (WHERE state = 'completed'), 0)::bigint AS spent
               FROM executions WHERE opened_at IS NOT NULL GROUP BY session_key, caller) AS of_key
         WHERE k.session_public_key = of_key.session_key AND k.wallet = of_key.caller"
    );
    statement.execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(Realigned { lost: lost.unsigned_abs(), reopened: reopened.unsigned_abs() })
}
