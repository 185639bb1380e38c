//! Closed accounts. No stream reports them: a snapshot does not have them, and a second read confirms it.

use solana_pubkey::Pubkey;
use sqlx::PgPool;

use super::{
    batch::{Batch, for_each_table},
    quarantine,
    table::MirrorTable,
};
use crate::{
    convert::{amount_to_db, pubkey},
    error::StoreError,
    transaction,
};

/// Accounts that are open in the mirror, were stored before `slot`, and are not in a snapshot of that slot. A read has
/// to confirm that they are closed.
pub async fn missing_from(pool: &PgPool, snapshot: &Batch, slot: u64) -> Result<Vec<Pubkey>, StoreError> {
    sqlx::query_scalar!(
        r#"SELECT stored.address AS "address!" FROM mirror_accounts stored
           LEFT JOIN unnest($1::text[]) AS present (address) USING (address)
           WHERE present.address IS NULL AND stored.closed_at_slot IS NULL AND stored.slot < $2"#,
        &snapshot.addresses(),
        amount_to_db("slot", slot)?,
    )
    .fetch_all(pool)
    .await?
    .iter()
    .map(|address| pubkey("account address", address))
    .collect()
}

/// Marks accounts as closed: a read at `slot` did not find them. Rows that were read later stay as they are.
pub async fn mark_closed(pool: &PgPool, addresses: &[Pubkey], slot: u64) -> Result<u64, StoreError> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let slot = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    let mut closed: u64 = 0;
    for_each_table!(Row => closed = closed.saturating_add(Row::mark_closed(&mut transaction, &addresses, slot).await?));
    quarantine::remove(&mut transaction, &addresses).await?;
    transaction.commit().await?;
    Ok(closed)
}
