//! Signed transactions: stored before they are sent for the first time, and what the chain said about them.

use crtx_protocol::transaction::Outcome;
use solana_pubkey::Pubkey;

use super::leases::Executions;
use crate::{
    convert::{amount_from_db, amount_to_db},
    error::StoreError,
};

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKind {
    Open,
    Complete,
    Fail,
}

impl TransactionKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Fail => "fail",
        }
    }
}

/// A signed transaction, stored before it is sent for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTransaction {
    /// Base58.
    pub signature: String,
    pub bytes: Vec<u8>,
    pub last_valid_block_height: u64,
}

/// A transaction that the chain has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Base58.
    pub signature: String,
    pub slot: u64,
}

impl Landing {
    pub(super) fn to_db(landing: Option<&Self>) -> Result<(Option<&str>, Option<i64>), StoreError> {
        let Some(Self { signature, slot }) = landing else { return Ok((None, None)) };
        Ok((Some(signature), Some(amount_to_db("slot", *slot)?)))
    }
}

/// An outcome as it is stored: its word, its slot and the chain's error.
struct OutcomeColumns<'a> {
    outcome: &'static str,
    slot: Option<i64>,
    detail: Option<&'a str>,
}

impl<'a> OutcomeColumns<'a> {
    /// `None` while the outcome is unknown.
    fn of(outcome: &'a Outcome) -> Result<Option<Self>, StoreError> {
        let (outcome, slot, detail) = match outcome {
            Outcome::Confirmed { slot } => ("confirmed", Some(*slot), None),
            Outcome::Rejected { slot, error } => ("rejected", Some(*slot), Some(error.as_str())),
            Outcome::Expired => ("expired", None, None),
            Outcome::Unknown => return Ok(None),
        };
        let slot = slot.map(|slot| amount_to_db("slot", slot)).transpose()?;
        Ok(Some(Self { outcome, slot, detail }))
    }
}

impl Executions {
    /// Notes what the chain said about a transaction. This is a fact, so it needs no lease. An unknown outcome changes
    /// nothing.
    pub async fn resolve(&self, signature: &str, outcome: &Outcome) -> Result<(), StoreError> {
        let Some(OutcomeColumns { outcome, slot, detail }) = OutcomeColumns::of(outcome)? else { return Ok(()) };
        sqlx::query!(
            "UPDATE execution_transactions SET outcome = $2, slot = $3, detail = $4, resolved_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE signature = $1 AND outcome = 'unknown'",
            signature,
            outcome,
            slot,
            detail,
        )
        .execute(self.pool())
        .await?;
        Ok(())
    }

    /// Transactions of that kind whose outcome is not known yet, oldest first.
    pub async fn unresolved(
        &self,
        record: &Pubkey,
        kind: TransactionKind,
    ) -> Result<Vec<StoredTransaction>, StoreError> {
        let rows = sqlx::query!(
            "SELECT signature, signed_transaction, last_valid_block_height FROM execution_transactions
             WHERE record = $1 AND kind = $2 AND outcome = 'unknown' ORDER BY created_at",
            record.to_string(),
            kind.as_str(),
        )
        .fetch_all(self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(StoredTransaction {
                    signature: row.signature,
                    bytes: row.signed_transaction,
                    last_valid_block_height: amount_from_db("block height", row.last_valid_block_height)?,
                })
            })
            .collect()
    }

    /// How many transactions of that kind the chain rejected for this execution.
    pub async fn rejections(&self, record: &Pubkey, kind: TransactionKind) -> Result<u32, StoreError> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM execution_transactions
               WHERE record = $1 AND kind = $2 AND outcome = 'rejected'"#,
            record.to_string(),
            kind.as_str(),
        )
        .fetch_one(self.pool())
        .await?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}
