//! For networks whose chain can be set back: a local one that lost its last moments, or its whole data.
//! Everywhere else the chain only grows, and nothing here is needed.

use solana_pubkey::Pubkey;

use crate::{
    PgPool, StoreError,
    convert::pubkey,
    mirror::{self, Batch},
    transaction,
};

/// What [`realign`] changed in the gateway's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realigned {
    /// Their record was never on this chain: failed now.
    pub lost: u64,
    /// Their record is open again: they will be settled or refunded again.
    pub reopened: u64,
}

/// The chain as it is after it was set back.
#[derive(Clone, Copy, Debug)]
pub struct ChainNow<'a> {
    /// All accounts of the program.
    pub snapshot: &'a Batch,
    /// Addresses of the execution records that are open.
    pub open: &'a [Pubkey],
    /// Accounts that the database knows and no transaction of this chain names.
    pub lost: &'a [Pubkey],
}

/// Accounts that the database knows, closed ones among them, and that are not `present` on the chain: each was
/// closed, or is lost. The chain's history says which.
pub async fn unaccounted(pool: &PgPool, present: &[Pubkey]) -> Result<Vec<Pubkey>, StoreError> {
    let present: Vec<String> = present.iter().map(Pubkey::to_string).collect();
    sqlx::query_scalar!(
        r#"SELECT known.address AS "address!" FROM (
               SELECT address FROM mirror_config
               UNION SELECT address FROM mirror_creators
               UNION SELECT address FROM mirror_agents
               UNION SELECT address FROM mirror_executions
               UNION SELECT address FROM mirror_disputes
               UNION SELECT address FROM mirror_grants
               UNION SELECT record FROM executions
                   WHERE opened_at IS NOT NULL AND (state <> 'failed' OR error_code IS DISTINCT FROM 'unavailable')
           ) known
           LEFT JOIN unnest($1::text[]) AS there (address) USING (address)
           WHERE there.address IS NULL"#,
        &present,
    )
    .fetch_all(pool)
    .await?
    .iter()
    .map(|address| pubkey("account address", address))
    .collect()
}

/// Makes the gateway's rows and the mirror agree with the chain, in one transaction: what the chain has lost goes,
/// and nothing else. Nothing else may work on the rows meanwhile.
pub async fn realign(pool: &PgPool, chain: &ChainNow<'_>) -> Result<Realigned, StoreError> {
    let text = |addresses: &[Pubkey]| addresses.iter().map(Pubkey::to_string).collect::<Vec<_>>();
    let (lost, open) = (text(chain.lost), text(chain.open));
    let mut transaction = transaction::begin(pool).await?;
    mirror::set_back(&mut transaction, chain.snapshot, chain.lost).await?;
    let lost = sqlx::query!(
        "UPDATE executions
         SET state = 'failed', error_status = 503, error_code = 'unavailable',
             error_message = 'the local network lost this execution; nothing was charged',
             finished_at = COALESCE(finished_at, now()), updated_at = now(), lease_owner = NULL, lease_until = NULL
         WHERE opened_at IS NOT NULL AND record = ANY ($1)
           AND (state <> 'failed' OR error_code IS DISTINCT FROM 'unavailable')",
        &lost,
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
