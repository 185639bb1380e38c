//! Writes batches: changes, whole snapshots, and rows of the gateway.

use sqlx::{PgConnection, PgExecutor, PgPool};

use super::{
    batch::{Batch, for_each_kind},
    callers, checkpoint, quarantine, table, wallets,
};
use crate::{error::StoreError, transaction};

/// Writes a batch into the caller's transaction. Returns how many rows changed.
pub async fn apply(connection: &mut PgConnection, batch: &Batch) -> Result<u64, StoreError> {
    let mut changed: u64 = 0;
    for_each_kind!(batch, rows => changed = changed.saturating_add(table::write(&mut *connection, rows).await?));
    if !batch.executions.is_empty() {
        callers::count(&mut *connection).await?;
        wallets::count(&mut *connection).await?;
    }
    quarantine::write(connection, &batch.quarantine, &batch.readable()).await?;
    Ok(changed)
}

/// Writes a batch whose rows nobody else has locked. It waits for a lock only for a moment: the batch can be written
/// later. The commit does not wait for the disk: the chain can repeat the batch.
pub async fn apply_if_free(pool: &PgPool, batch: &Batch) -> Result<(), StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!(
        "SELECT set_config('synchronous_commit', 'off', true) AS relaxed,
                set_config('lock_timeout', '100ms', true) AS patience"
    )
    .fetch_one(&mut *transaction)
    .await?;
    apply(&mut transaction, batch).await?;
    Ok(transaction.commit().await?)
}

/// Writes a batch of changes and moves the checkpoint to `slot` if that is later, in one transaction.
pub async fn apply_changes(pool: &PgPool, batch: &Batch, slot: u64) -> Result<u64, StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    let changed = apply(&mut transaction, batch).await?;
    checkpoint::reach(&mut *transaction, slot).await?;
    transaction.commit().await?;
    Ok(changed)
}

/// What a snapshot does with the stored rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotMode {
    /// The same chain as before: newer rows replace older ones.
    Forward,
    /// Another chain: all rows of the mirror are replaced. Metadata documents stay: they are found by their hash.
    Replace,
}

/// Applies a whole snapshot read at `slot`, in one transaction with the checkpoint.
pub async fn resync(
    pool: &PgPool,
    batch: &Batch,
    slot: u64,
    genesis_hash: Option<&str>,
    mode: SnapshotMode,
) -> Result<u64, StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    if mode == SnapshotMode::Replace {
        clear(&mut *transaction).await?;
    }
    let changed = apply(&mut transaction, batch).await?;
    checkpoint::reach_by_snapshot(&mut *transaction, slot, genesis_hash).await?;
    transaction.commit().await?;
    Ok(changed)
}

/// Deletes all rows of the mirror and the checkpoint: for another chain, whose rows would not replace rows with later
/// revisions. Metadata documents stay.
pub async fn clear(executor: impl PgExecutor<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "TRUNCATE mirror_config, mirror_creators, mirror_agents, mirror_executions, mirror_disputes, mirror_grants,
                  mirror_quarantine, mirror_checkpoint, mirror_caller_changes, mirror_agent_callers,
                  mirror_agent_totals, mirror_wallet_changes, mirror_wallet_totals, mirror_agent_earnings"
    )
    .execute(executor)
    .await?;
    Ok(())
}
