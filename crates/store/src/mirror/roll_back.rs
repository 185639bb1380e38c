//! The mirror of a local chain that lost its last blocks.

use solana_pubkey::Pubkey;
use sqlx::PgConnection;

use super::{accounts, batch::Batch, digest, totals, write::apply};
use crate::error::StoreError;

/// Makes the mirror equal to a snapshot of the chain. The rows of `lost` are deleted: no transaction of this chain
/// names these accounts. Rows with a later revision than the snapshot's are replaced. Rows of closed accounts stay.
/// Returns how many rows were deleted.
pub async fn roll_back(connection: &mut PgConnection, snapshot: &Batch, lost: &[Pubkey]) -> Result<u64, StoreError> {
    let lost: Vec<String> = lost.iter().map(Pubkey::to_string).collect();
    let (addresses, revisions): (Vec<String>, Vec<i64>) =
        snapshot.rows.values().map(|row| (row.address.clone(), row.number("revision"))).unzip();
    let gone = sqlx::query_scalar!(
        "SELECT t.address FROM mirror_accounts t
         LEFT JOIN unnest($2::text[], $3::bigint[]) AS s (address, revision) ON s.address = t.address
         WHERE t.address = ANY($1) OR s.revision < t.revision FOR UPDATE OF t",
        &lost,
        &addresses,
        &revisions,
    )
    .fetch_all(&mut *connection)
    .await?;
    let deleted = accounts::delete(connection, &gone).await?;
    apply(connection, snapshot).await?;
    // The snapshot may have no execution.
    totals::count(connection).await?;
    // What was final may be lost: the indexer reads it again.
    digest::forget(connection, &lost).await?;
    Ok(deleted)
}
