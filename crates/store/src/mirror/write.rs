//! Writes batches: changes, whole snapshots, and rows of the gateway.

use std::collections::{HashMap, HashSet};

use crtx_protocol::mirror_digest::data_hash;
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};

use super::{
    batch::{Batch, for_each_kind},
    callers, checkpoint, quarantine,
    table::{self, MirrorTable},
    wallets,
};
use crate::{convert::pubkey, error::StoreError, execution_list, transaction};

/// Writes a batch into the caller's transaction. Returns how many rows changed.
pub async fn apply(connection: &mut PgConnection, batch: &Batch) -> Result<u64, StoreError> {
    let mut changed: u64 = 0;
    if !batch.disputes.is_empty() {
        execution_list::lock(&mut *connection, &batch.records()).await?;
    }
    for_each_kind!(batch, rows => changed = changed.saturating_add(table::write(&mut *connection, rows, &batch.hashes).await?));
    if !batch.executions.is_empty() {
        callers::count(&mut *connection).await?;
        wallets::count(&mut *connection).await?;
    }
    let (addresses, slots) = batch.readable_slots();
    quarantine::write(connection, &batch.quarantine, (&addresses, &slots)).await?;
    Ok(changed)
}

/// What [`apply_differing`] found and wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Accounts that the mirror showed in another state.
    pub written: Vec<Pubkey>,
    /// Accounts whose row has a newer revision than this later read.
    pub ahead: Vec<Pubkey>,
}

/// Compares a part of a snapshot with the stored rows first, and writes only what differs, in a transaction of its own.
/// It writes nothing, and locks nothing, if all rows are equal. The commit does not wait for the disk: what says that
/// the snapshot was applied is committed later.
pub async fn apply_differing(pool: &PgPool, mut batch: Batch) -> Result<Applied, StoreError> {
    let mut applied = Applied::default();
    let mut kept = HashSet::new();
    for_each_kind!(batch, rows => {
        let differing = differing(pool, rows, &batch.hashes).await?;
        for found in differing {
            let address = pubkey("account address", &found.address)?;
            if found.replaces {
                applied.written.push(address);
                kept.insert(found.address);
            } else {
                applied.ahead.push(address);
            }
        }
    });
    let quarantined = quarantine::hashes(pool, &batch.addresses()).await?;
    // A row that the database refused is tried again after a while.
    let refused = |address: &String, hash: &[u8]| quarantined.get(address).is_some_and(|known| known.holds(hash));
    kept.retain(|address| !batch.hashes.get(address).is_some_and(|hash| refused(address, hash)));
    batch.quarantine.retain(|address, row| !refused(address, &data_hash(&row.data.0)));
    // What was quarantined and is readable leaves the quarantine, though its row may be equal.
    let (addresses, slots) = batch.readable_slots();
    let released: (Vec<String>, Vec<i64>) =
        addresses.into_iter().zip(slots).filter(|(address, _)| quarantined.contains_key(address)).unzip();
    batch.retain(&kept);
    if !batch.is_empty() || !released.0.is_empty() {
        let mut transaction = transaction::begin_relaxed(pool).await?;
        apply(&mut transaction, &batch).await?;
        quarantine::write(&mut transaction, &HashMap::new(), (&released.0, &released.1)).await?;
        transaction.commit().await?;
    }
    Ok(applied)
}

async fn differing<R: MirrorTable>(
    pool: &PgPool,
    rows: &table::Rows<R>,
    hashes: &table::Hashes,
) -> Result<Vec<table::Differs>, StoreError> {
    if rows.is_empty() { Ok(Vec::new()) } else { R::differing(pool, &table::states(rows, hashes)).await }
}

/// Writes a batch of changes and moves the checkpoint to `slot` if that is later, in one transaction. Slot 0 does not
/// move it. The commit does not wait for the disk: the chain can repeat the batch.
pub async fn apply_changes(pool: &PgPool, batch: &Batch, slot: u64) -> Result<u64, StoreError> {
    let mut transaction = transaction::begin_relaxed(pool).await?;
    let changed = apply(&mut transaction, batch).await?;
    if slot > 0 {
        checkpoint::reach(&mut *transaction, slot).await?;
    }
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

/// Applies a whole snapshot read at `slot`, in one transaction with the checkpoint. For a local network, before anything
/// else uses the database.
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
                  mirror_agent_totals, mirror_wallet_changes, mirror_wallet_totals, mirror_agent_earnings,
                  mirror_final_accounts, mirror_digest, mirror_digest_history,
                  mirror_closings, mirror_closings_wanted, mirror_rebuild, mirror_rebuild_transactions,
                  mirror_rebuild_terms, mirror_rebuild_openings"
    )
    .execute(executor)
    .await?;
    Ok(())
}
