//! The slot that the mirror has reached. `mirror_checkpoint`.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::{columns::Count, convert::amount_to_db, error::StoreError};

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
pub async fn checkpoint(executor: impl PgExecutor<'_>) -> Result<Option<Checkpoint>, StoreError> {
    let checkpoint = sqlx::query_as!(
        Checkpoint,
        r#"SELECT slot AS "slot: Count", genesis_hash, snapshot_at FROM mirror_checkpoint"#
    );
    Ok(checkpoint.fetch_optional(executor).await?)
}

/// Moves the checkpoint to `slot` if that is later.
pub async fn move_to(executor: impl PgExecutor<'_>, slot: u64) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO mirror_checkpoint AS c (slot) VALUES ($1)
         ON CONFLICT (only_row) DO UPDATE SET slot = GREATEST(c.slot, excluded.slot), updated_at = now()",
        amount_to_db("slot", slot)?,
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// The same, after a whole snapshot of `slot` was applied.
pub async fn snapshot_applied(
    executor: impl PgExecutor<'_>,
    slot: u64,
    genesis_hash: Option<&str>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO mirror_checkpoint AS c (slot, genesis_hash, snapshot_at) VALUES ($1, $2, now())
         ON CONFLICT (only_row) DO UPDATE SET
             slot = GREATEST(c.slot, excluded.slot),
             genesis_hash = COALESCE(excluded.genesis_hash, c.genesis_hash),
             snapshot_at = now(),
             updated_at = now()",
        amount_to_db("slot", slot)?,
        genesis_hash,
    )
    .execute(executor)
    .await?;
    Ok(())
}
