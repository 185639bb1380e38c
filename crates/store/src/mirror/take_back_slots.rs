//! Slots that the chain has not reached, in rows that were written when every answer of a node was believed.

use sqlx::PgPool;

use super::{batch::for_each_table, table::MirrorTable};
use crate::{convert::amount_to_db, error::StoreError, transaction};

/// Sets every slot after `most` to `to`, also the checkpoint's. Returns how many rows of accounts had one.
pub async fn take_back_slots(pool: &PgPool, most: u64, to: u64) -> Result<u64, StoreError> {
    let (most, to) = (amount_to_db("slot", most)?, amount_to_db("slot", to)?);
    let mut transaction = transaction::begin(pool).await?;
    let mut changed: u64 = 0;
    for_each_table!(Row => {
        changed = changed.saturating_add(Row::take_back_slots(&mut transaction, most, to).await?);
    });
    sqlx::query!(
        "WITH quarantined AS (UPDATE mirror_quarantine SET slot = $2 WHERE slot > $1),
              wanted AS (UPDATE mirror_closings_wanted SET closed_at_slot = $2 WHERE closed_at_slot > $1),
              final AS (UPDATE mirror_final_accounts SET slot = $2 WHERE slot > $1)
         UPDATE mirror_checkpoint SET slot = $2 WHERE slot > $1",
        most,
        to,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(changed)
}
