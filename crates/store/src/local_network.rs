//! For networks whose chain can be set back: a local one that lost its last moments, or its whole data.
//! Everywhere else the chain only grows, and nothing here is needed.

use solana_pubkey::Pubkey;

use crate::{PgPool, StoreError, transaction};

/// What [`realign_executions`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realigned {
    /// Their record is not on the chain, and was not seen to be closed: failed now.
    pub lost: u64,
    /// Their record is open again: they will be settled or refunded again.
    pub reopened: u64,
}

/// Makes the gateway's rows agree with the chain: `records` are the addresses of all execution records on
/// it, `open` those that are open. Nothing else may work on the rows meanwhile.
pub async fn realign_executions(pool: &PgPool, records: &[Pubkey], open: &[Pubkey]) -> Result<Realigned, StoreError> {
    let text = |addresses: &[Pubkey]| addresses.iter().map(Pubkey::to_string).collect::<Vec<_>>();
    let (records, open) = (text(records), text(open));
    let mut transaction = transaction::begin(pool).await?;
    let lost = sqlx::query!(
        "UPDATE executions
         SET state = 'failed', error_status = 503, error_code = 'unavailable',
             error_message = 'the local network lost this execution; nothing was charged',
             finished_at = COALESCE(finished_at, now()), updated_at = now(), lease_owner = NULL, lease_until = NULL
         WHERE opened_at IS NOT NULL AND record <> ALL ($1)
           AND (state <> 'failed' OR error_code IS DISTINCT FROM 'unavailable')
           AND NOT EXISTS (SELECT 1 FROM mirror_executions m WHERE m.address = record AND m.closed_at_slot IS NOT NULL)",
        &records,
    )
    .execute(&mut *transaction)
    .await?;
    let settle = sqlx::query!(
        "UPDATE executions
         SET state = 'result_stored', finished_at = NULL, updated_at = now(), lease_owner = NULL, lease_until = NULL
         WHERE record = ANY ($1) AND state IN ('settling', 'completed')",
        &open,
    )
    .execute(&mut *transaction)
    .await?;
    let refund = sqlx::query!(
        "UPDATE executions
         SET state = 'refunding', finished_at = NULL, updated_at = now(), lease_owner = NULL, lease_until = NULL
         WHERE record = ANY ($1) AND state = 'failed'",
        &open,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    let reopened = settle.rows_affected().saturating_add(refund.rows_affected());
    Ok(Realigned { lost: lost.rows_affected(), reopened })
}
