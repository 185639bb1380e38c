//! How old the newest proven state of the mirror is.

use sqlx::PgExecutor;

use crate::{columns::Count, error::StoreError};

/// How far the mirror is behind, by the database's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Freshness {
    /// Whether a snapshot of the chain was ever applied.
    pub has_snapshot: bool,
    /// Seconds since the newest sign that the mirror shows the chain: an event of a stream that is followed, a
    /// checkpoint, or a snapshot. A quiet chain does not make it older, because its slots are events.
    pub lag_seconds: Option<f64>,
}

pub async fn freshness(executor: impl PgExecutor<'_>) -> Result<Freshness, StoreError> {
    let freshness = sqlx::query_as!(
        Freshness,
        r#"SELECT c.snapshot_at IS NOT NULL AS "has_snapshot!",
                  GREATEST(0, extract(epoch FROM now() - GREATEST(c.updated_at, c.snapshot_at, (
                      SELECT max(p.last_event_at) FROM indexer_processes p WHERE p.leads AND p.streaming))))::float8
                      AS lag_seconds
           FROM mirror_checkpoint c"#
    );
    Ok(freshness.fetch_optional(executor).await?.unwrap_or_default())
}

/// Accounts whose bytes cannot be read: their number, and one of them with the reason.
pub async fn quarantined(executor: impl PgExecutor<'_>) -> Result<(u64, Option<(String, String)>), StoreError> {
    let row = sqlx::query!(
        r#"SELECT count(*) AS "count!: Count", min(address) AS address,
                  (SELECT error FROM mirror_quarantine ORDER BY address LIMIT 1) AS error
           FROM mirror_quarantine"#
    );
    let row = row.fetch_one(executor).await?;
    Ok((row.count.into(), row.address.zip(row.error)))
}
