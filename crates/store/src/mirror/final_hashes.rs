//! The hashes of the accounts at the finalized state, in the order of their addresses, for the audit of the digest.

use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    convert::{fixed_bytes, pubkey},
    error::StoreError,
};

/// The accounts after `after` that are there.
pub async fn final_hashes_after(
    executor: impl PgExecutor<'_>,
    after: &str,
    limit: u32,
) -> Result<Vec<(Pubkey, [u8; 32])>, StoreError> {
    sqlx::query!(
        r#"SELECT address, data_hash AS "data_hash!" FROM mirror_final_accounts
           WHERE data_hash IS NOT NULL AND address > $1 ORDER BY address LIMIT $2"#,
        after,
        i64::from(limit),
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| Ok((pubkey("account address", &row.address)?, fixed_bytes("data hash", &row.data_hash)?)))
    .collect()
}
