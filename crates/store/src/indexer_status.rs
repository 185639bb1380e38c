//! The state of the indexer: its heartbeat and its last audit.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgExecutor;

use crate::{
    convert::{amount_from_db, amount_to_db},
    error::StoreError,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The chain's confirmed slot at the heartbeat.
    pub chain_slot: u64,
    /// Whether the indexer receives changes.
    pub streaming: bool,
    /// When the last change arrived.
    pub last_change: Option<DateTime<Utc>>,
    pub at: DateTime<Utc>,
}

pub async fn beat(
    executor: impl PgExecutor<'_>,
    chain_slot: u64,
    streaming: bool,
    last_change: Option<DateTime<Utc>>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO indexer_heartbeat AS h (chain_slot, streaming, last_change) VALUES ($1, $2, $3)
         ON CONFLICT (only_row) DO UPDATE SET
             chain_slot = excluded.chain_slot, streaming = excluded.streaming,
             last_change = COALESCE(excluded.last_change, h.last_change), at = now()",
        amount_to_db("slot", chain_slot)?,
        streaming,
        last_change,
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// The last heartbeat; `None` if no indexer ever ran on this database.
pub async fn heartbeat(executor: impl PgExecutor<'_>) -> Result<Option<Heartbeat>, StoreError> {
    sqlx::query!("SELECT chain_slot, streaming, last_change, at FROM indexer_heartbeat")
        .fetch_optional(executor)
        .await?
        .map(|row| {
            Ok(Heartbeat {
                chain_slot: amount_from_db("slot", row.chain_slot)?,
                streaming: row.streaming,
                last_change: row.last_change,
                at: row.at,
            })
        })
        .transpose()
}

/// Replaces the report of the audit before.
pub async fn store_audit(executor: impl PgExecutor<'_>, report: &Value) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO indexer_audit (report) VALUES ($1)
         ON CONFLICT (only_row) DO UPDATE SET report = excluded.report, at = now()",
        report
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// The report of the last audit, and its time.
pub async fn last_audit(executor: impl PgExecutor<'_>) -> Result<Option<(Value, DateTime<Utc>)>, StoreError> {
    Ok(sqlx::query!("SELECT report, at FROM indexer_audit")
        .fetch_optional(executor)
        .await?
        .map(|row| (row.report, row.at)))
}
