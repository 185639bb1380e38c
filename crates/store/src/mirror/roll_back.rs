//! The mirror of a local chain that lost its last blocks.

use solana_pubkey::Pubkey;
use sqlx::PgConnection;

use super::{
    batch::{Batch, for_each_table},
    callers, digest,
    table::MirrorTable,
    wallets,
    write::apply,
};
use crate::error::StoreError;

/// Makes the mirror equal to a snapshot of the chain. The rows of `lost` are deleted: no transaction of this chain
/// names these accounts. Rows with a later revision than the snapshot's are replaced. Rows of closed accounts stay.
/// Returns how many rows were deleted.
pub async fn roll_back(connection: &mut PgConnection, snapshot: &Batch, lost: &[Pubkey]) -> Result<u64, StoreError> {
    let lost: Vec<String> = lost.iter().map(Pubkey::to_string).collect();
    let (addresses, revisions) = snapshot.revisions();
    let mut deleted: u64 = 0;
    for_each_table!(Row => {
        deleted = deleted.saturating_add(Row::delete_newer(connection, &lost, &addresses, &revisions).await?);
    });
    apply(connection, snapshot).await?;
    // The snapshot may have no execution.
    callers::count(connection).await?;
    wallets::count(connection).await?;
    // What was final may be lost: the indexer reads it again.
    digest::forget(connection, &lost).await?;
    Ok(deleted)
}
