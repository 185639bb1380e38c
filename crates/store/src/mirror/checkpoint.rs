//! The slot that the mirror has reached, and how old that is. `mirror_checkpoint`.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::{Result, columns::Count, convert::amount_to_db, database::run};

#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The mirror shows the chain at this slot or later.
    pub slot: u64,
    /// Identifies the chain; none before a source has named it.
    pub genesis_hash: Option<String>,
    /// When the last snapshot was applied.
    pub snapshot_at: Option<DateTime<Utc>>,
    /// Seconds since the newest sign that the mirror shows the chain, by the database's clock: an event of a stream that is
    /// followed, a checkpoint, or a snapshot. A quiet chain does not make it older, because its slots are events.
    pub lag_seconds: f64,
}

/// The checkpoint; `None` before the first write.
pub async fn checkpoint(db: impl PgExecutor<'_>) -> Result<Option<Checkpoint>> {
    let checkpoint = sqlx::query_as!(
        Checkpoint,
        r#"SELECT c.slot AS "slot: Count", c.genesis_hash, c.snapshot_at,
                  GREATEST(0, extract(epoch FROM now() - GREATEST(c.updated_at, c.snapshot_at, (
                      SELECT max(p.last_event_at) FROM indexer_processes p WHERE p.leads AND p.streaming))))::float8
                      AS "lag_seconds!"
           FROM mirror_checkpoint c"#
    );
    Ok(checkpoint.fetch_optional(db).await?)
}

/// Moves the checkpoint to `slot` if that is later.
pub async fn move_to(db: impl PgExecutor<'_>, slot: u64) -> Result<()> {
    let statement = sqlx::query!(
        "INSERT INTO mirror_checkpoint AS c (slot) VALUES ($1)
         ON CONFLICT (only_row) DO UPDATE SET slot = GREATEST(c.slot, excluded.slot), updated_at = now()",
        amount_to_db("slot", slot)?,
    );
    run(db, statement).await
}

/// The same, after a whole snapshot of `slot` was applied.
pub async fn snapshot_applied(db: impl PgExecutor<'_>, slot: u64, genesis_hash: Option<&str>) -> Result<()> {
    let statement = sqlx::query!(
        "INSERT INTO mirror_checkpoint AS c (slot, genesis_hash, snapshot_at) VALUES ($1, $2, now())
         ON CONFLICT (only_row) DO UPDATE SET
             slot = GREATEST(c.slot, excluded.slot),
             genesis_hash = COALESCE(excluded.genesis_hash, c.genesis_hash),
             snapshot_at = now(),
             updated_at = now()",
        amount_to_db("slot", slot)?,
        genesis_hash,
    );
    run(db, statement).await
}
