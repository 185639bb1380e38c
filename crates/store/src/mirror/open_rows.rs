//! The rows of open accounts in the order of their addresses, for the audit.

use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    convert::{amount_from_db, pubkey},
    error::StoreError,
};

/// A row that says that its account is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRow {
    pub address: Pubkey,
    /// The slot at which the account was read.
    pub slot: u64,
}

/// The rows after `after`, of all kinds.
pub async fn open_rows(executor: impl PgExecutor<'_>, after: &str, limit: u32) -> Result<Vec<OpenRow>, StoreError> {
    sqlx::query!(
        r#"SELECT address AS "address!", slot AS "slot!" FROM mirror_accounts
           WHERE closed_at_slot IS NULL AND address > $1 ORDER BY address LIMIT $2"#,
        after,
        i64::from(limit),
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| {
        Ok(OpenRow { address: pubkey("account address", &row.address)?, slot: amount_from_db("slot", row.slot)? })
    })
    .collect()
}

/// Those of the addresses whose rows say that the account is open, with their slots.
pub async fn still_open(executor: impl PgExecutor<'_>, addresses: &[Pubkey]) -> Result<Vec<OpenRow>, StoreError> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    sqlx::query!(
        r#"SELECT address AS "address!", slot AS "slot!" FROM mirror_accounts
           WHERE closed_at_slot IS NULL AND address = ANY($1)"#,
        &addresses,
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| {
        Ok(OpenRow { address: pubkey("account address", &row.address)?, slot: amount_from_db("slot", row.slot)? })
    })
    .collect()
}
