//! The slot that the mirror has reached. `mirror_checkpoint`.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::{Result, columns::Count, convert::amount_to_db, database::run};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The mirror shows the chain at this slot or later.
    pub slot: u64,
    /// Identifies the chain; none before a source has named it.
    pub genesis_hash: Option<String>,
    /// When the last snapshot was applied.
    pub snapshot_at: Option<DateTime<Utc>>,
}

/// The checkpoint; `None` before the first write.
pub async fn checkpoint(db: impl PgExecutor<'_>) -> Result<Option<Checkpoint>> {
    let checkpoint = sqlx::query_as!(
        Checkpoint,
        r#"SELECT slot AS "slot: Count", genesis_hash, snapshot_at FROM mirror_checkpoint"#
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
