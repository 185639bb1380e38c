//! The account that pays the fees of each gateway, for `GET /v1/status`.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    columns::{Base58, Count},
    convert::saturating_to_db,
    error::StoreError,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, sqlx::Type)]
#[strum(const_into_str, serialize_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum FeePayerState {
    Ok,
    /// Calls are accepted; an operator should send SOL.
    Low,
    /// New calls are refused; the rest of the balance settles and refunds open ones.
    Empty,
}

/// A fee payer at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeePayer {
    pub address: Pubkey,
    pub lamports: u64,
    pub state: FeePayerState,
    /// Calls that the balance pays for before new ones are refused.
    pub calls_left: u64,
}

/// Replaces what was stored about this account.
pub async fn store(executor: impl PgExecutor<'_>, payer: &FeePayer) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO fee_payers (address, lamports, state, calls_left) VALUES ($1, $2, $3, $4)
         ON CONFLICT (address) DO UPDATE SET
             lamports = excluded.lamports, state = excluded.state, calls_left = excluded.calls_left, at = now()",
        payer.address.to_string(),
        saturating_to_db(payer.lamports),
        payer.state.into_str(),
        saturating_to_db(payer.calls_left),
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// The fee payer that was stored last, and when; `None` if no gateway ever ran on this database.
pub async fn latest(executor: impl PgExecutor<'_>) -> Result<Option<(FeePayer, DateTime<Utc>)>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT address AS "address: Base58", lamports AS "lamports: Count", state AS "state: FeePayerState",
                  calls_left AS "calls_left: Count", at
           FROM fee_payers ORDER BY at DESC LIMIT 1"#
    );
    Ok(row.fetch_optional(executor).await?.map(|row| {
        let (address, lamports) = (row.address.into(), row.lamports.into());
        (FeePayer { address, lamports, state: row.state, calls_left: row.calls_left.into() }, row.at)
    }))
}
