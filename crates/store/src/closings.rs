//! The last bytes of closed accounts. `mirror_closings`, and `mirror_closings_wanted` for those to search for.

use std::time::Duration;

use chrono::{DateTime, Utc};
use crtx_protocol::text::without_nul;
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};

use crate::{
    Result,
    columns::{Base58, Count},
    convert::amount_to_db,
    database::run,
};

/// The kinds of accounts that the program closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum ClosingKind {
    Execution,
    Dispute,
    Agent,
}

/// The last bytes of an account, as the event of its closing has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    pub slot: u64,
    /// Of the transaction, Base58.
    pub signature: String,
    pub data: Vec<u8>,
    pub closed_at: DateTime<Utc>,
}

/// A closed row whose closing is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedClosing {
    pub address: Pubkey,
    pub attempts: u32,
    /// How long the row has been closed.
    pub age: Duration,
}

/// Keeps a closing. Nothing happens if it is known. A finalized transaction made it, so the account was final once: its
/// row is history, and no correction deletes it. True if it is the newest closing of the address.
pub async fn store(db: impl PgExecutor<'_>, address: &Pubkey, kind: ClosingKind, closing: &Closing) -> Result<bool> {
    let is_newest = sqlx::query_scalar!(
        r#"WITH proved AS (
               INSERT INTO mirror_final_accounts (address, slot) VALUES ($1, $2) ON CONFLICT (address) DO NOTHING),
           stored AS (
               INSERT INTO mirror_closings (address, slot, signature, kind, data, closed_at)
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (address, slot) DO NOTHING)
           SELECT NOT EXISTS (SELECT FROM mirror_closings WHERE address = $1 AND slot > $2) AS "is_newest!""#,
        address.to_string(),
        amount_to_db("slot", closing.slot)?,
        closing.signature,
        kind.into_str(),
        closing.data,
        closing.closed_at,
    );
    Ok(is_newest.fetch_one(db).await?)
}

/// Closed rows whose search is due, longest due first.
pub async fn wanted(pool: &PgPool, limit: u32) -> Result<Vec<WantedClosing>> {
    let rows = sqlx::query!(
        r#"SELECT address AS "address: Base58", attempts, GREATEST(extract(epoch FROM now() - since), 0)::bigint AS "age_s!"
           FROM mirror_closings_wanted WHERE next_attempt <= now()
           ORDER BY next_attempt, address LIMIT $1"#,
        i64::from(limit),
    );
    let wanted = rows.fetch_all(pool).await?.into_iter().map(|row| WantedClosing {
        address: row.address.into(),
        attempts: row.attempts.unsigned_abs(),
        age: Duration::from_secs(row.age_s.unsigned_abs()),
    });
    Ok(wanted.collect())
}

/// The search found it, or nobody needs it any more.
pub async fn found(connection: &mut PgConnection, address: &Pubkey) -> Result<()> {
    let statement = sqlx::query!("DELETE FROM mirror_closings_wanted WHERE address = $1", address.to_string());
    run(connection, statement).await
}

/// Notes when to search again, and why a search found nothing. Without a reason the attempt does not count. The search
/// ends if there is no closed row any more: the account was opened again, or was on a dropped fork.
pub async fn not_found(pool: &PgPool, address: &Pubkey, reason: Option<&str>, again_in: Duration) -> Result<()> {
    let ended = sqlx::query!(
        "DELETE FROM mirror_closings_wanted WHERE address = $1
             AND NOT EXISTS (SELECT FROM mirror_states s WHERE s.address = $1 AND s.closed_at_slot IS NOT NULL)",
        address.to_string(),
    );
    if ended.execute(pool).await?.rows_affected() > 0 {
        return Ok(());
    }
    let reason = reason.map(without_nul);
    let statement = sqlx::query!(
        "UPDATE mirror_closings_wanted SET
             attempts = LEAST(attempts, 1000) + CASE WHEN $2::text IS NULL THEN 0 ELSE 1 END,
             error = COALESCE($2, error), next_attempt = now() + make_interval(secs => $3)
         WHERE address = $1",
        address.to_string(),
        reason.as_deref(),
        again_in.as_secs_f64(),
    );
    run(pool, statement).await
}

/// Random closings, for a look at the chain. The index on the time of closing finds a place to begin.
pub async fn sample(pool: &PgPool, limit: u32) -> Result<Vec<(Pubkey, Closing)>> {
    let rows = sqlx::query!(
        r#"SELECT address AS "address: Base58", slot AS "slot: Count", signature, data, closed_at FROM mirror_closings
           WHERE closed_at <= (SELECT min(closed_at) + random() * (max(closed_at) - min(closed_at)) FROM mirror_closings)
           ORDER BY closed_at DESC, address LIMIT $1"#,
        i64::from(limit),
    );
    let closings = rows.fetch_all(pool).await?.into_iter().map(|row| {
        let (slot, closed_at) = (row.slot.into(), row.closed_at);
        (row.address.into(), Closing { slot, signature: row.signature, data: row.data, closed_at })
    });
    Ok(closings.collect())
}

/// Whether a rebuild has read every transaction of the program, so that every closed account is known.
pub async fn whole_history(pool: &PgPool) -> Result<bool> {
    let walked = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_rebuild WHERE finished_at IS NOT NULL)
               AND NOT EXISTS (SELECT FROM mirror_closings_wanted) AS "whole!""#
    );
    Ok(walked.fetch_one(pool).await?)
}
