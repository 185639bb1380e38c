//! The account that pays the fees of each gateway, for `GET /v1/status`.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    convert::{amount_from_db, pubkey, saturating_to_db},
    error::StoreError,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeePayerState {
    Ok,
    /// Calls are accepted; an operator should send SOL.
    Low,
    /// New calls are refused; the rest of the balance settles and refunds open ones.
    Empty,
}

impl FeePayerState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Low => "low",
            Self::Empty => "empty",
        }
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        [Self::Ok, Self::Low, Self::Empty]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| StoreError::corrupt("fee payer state", text))
    }
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
        payer.state.as_str(),
        saturating_to_db(payer.calls_left),
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// The fee payer that was stored last, and when; `None` if no gateway ever ran on this database.
pub async fn latest(executor: impl PgExecutor<'_>) -> Result<Option<(FeePayer, DateTime<Utc>)>, StoreError> {
    sqlx::query!("SELECT address, lamports, state, calls_left, at FROM fee_payers ORDER BY at DESC LIMIT 1")
        .fetch_optional(executor)
        .await?
        .map(|row| {
            let payer = FeePayer {
                address: pubkey("fee payer", &row.address)?,
                lamports: amount_from_db("lamports", row.lamports)?,
                state: FeePayerState::parse(&row.state)?,
                calls_left: amount_from_db("calls left", row.calls_left)?,
            };
            Ok((payer, row.at))
        })
        .transpose()
}
