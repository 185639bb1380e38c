//! The account that pays the fees of each gateway, and what is wrong with the one that gets the marketplace's, for
//! `GET /v1/status`.

use serde::Serialize;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use crate::{
    columns::{Count, Timestamp},
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeePayer {
    pub address: Pubkey,
    pub lamports: u64,
    pub state: FeePayerState,
    /// Calls that the balance pays for before new ones are refused.
    pub calls_left: u64,
    /// Offered for a compute unit, in millionths of a lamport.
    pub compute_unit_price: u64,
    /// In words, what is wrong with the treasury's account.
    pub treasury_problem: Option<String>,
}

/// Replaces what was stored about this account.
pub async fn store(executor: impl PgExecutor<'_>, payer: &FeePayer) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO fee_payers (address, lamports, state, calls_left, compute_unit_price, treasury_problem)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (address) DO UPDATE SET
             lamports = excluded.lamports, state = excluded.state, calls_left = excluded.calls_left,
             compute_unit_price = excluded.compute_unit_price, treasury_problem = excluded.treasury_problem, at = now()",
        payer.address.to_string(),
        saturating_to_db(payer.lamports),
        payer.state.into_str(),
        saturating_to_db(payer.calls_left),
        saturating_to_db(payer.compute_unit_price),
        payer.treasury_problem,
    )
    .execute(executor)
    .await?;
    Ok(())
}

// What was stored about the fee payer of one gateway.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = FeePayerStatus)]
pub struct StoredFeePayer {
    pub address: String,
    pub lamports: u64,
    /// `ok`; `low`: the operator should send SOL; `empty`: new calls are refused, and the rest of the balance settles
    /// and refunds open ones.
    pub state: String,
    /// Calls that the balance pays for before new ones are refused.
    pub calls_left: u64,
    /// Offered now for a compute unit of openings and settlements, in millionths of a lamport. More if the accounts of
    /// an agent are busy, or a deadline is near. 0: no priority fee.
    pub compute_unit_price: u64,
    /// When a gateway read the balance.
    pub at: Timestamp,
    #[serde(skip)]
    pub treasury_problem: Option<String>,
}

/// The fee payer that was stored last; `None` if no gateway ever ran on this database.
pub async fn latest(executor: impl PgExecutor<'_>) -> Result<Option<StoredFeePayer>, StoreError> {
    let payer = sqlx::query_as!(
        StoredFeePayer,
        r#"SELECT address, lamports AS "lamports: Count", state, calls_left AS "calls_left: Count", at AS "at: Timestamp",
                  compute_unit_price AS "compute_unit_price: Count", treasury_problem
           FROM fee_payers ORDER BY at DESC LIMIT 1"#
    );
    Ok(payer.fetch_optional(executor).await?)
}
