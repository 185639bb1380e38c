//! Signed transactions: stored before they are sent for the first time, and what the chain said about them.

use crtx_protocol::transaction::Outcome;
use solana_pubkey::Pubkey;

use super::leases::Executions;
use crate::{Result, columns::Count, convert::optional_amount_to_db, database::run};

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum TransactionKind {
    Open,
    Complete,
    Fail,
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

impl Executions {
    /// Notes what the chain said about a transaction of this execution. This is a fact, so it needs no lease. An unknown
    /// outcome changes nothing.
    pub async fn resolve(&self, record: &Pubkey, signature: &str, outcome: &Outcome) -> Result<()> {
        let (outcome, slot, detail) = match outcome {
            Outcome::Confirmed { slot } => ("confirmed", Some(*slot), None),
            Outcome::Rejected { slot, error } => ("rejected", Some(*slot), Some(error.as_str())),
            Outcome::Expired => ("expired", None, None),
            Outcome::Unknown => return Ok(()),
        };
        let statement = sqlx::query!(
            "UPDATE execution_transactions
             SET outcome = $2, slot = $3, detail = $4, resolved_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE signature = $1 AND record = $5 AND outcome = 'unknown'",
            signature,
            outcome,
            optional_amount_to_db("slot", slot)?,
            detail,
            record.to_string(),
        );
        run(self.pool(), statement).await
    }

    /// Transactions of that kind whose outcome is not known yet, oldest first.
    pub async fn unresolved(&self, record: &Pubkey, kind: TransactionKind) -> Result<Vec<StoredTransaction>> {
        let stored = sqlx::query_as!(
            StoredTransaction,
            r#"SELECT signature, last_valid_block_height AS "last_valid_block_height: Count",
                      COALESCE(signed_transaction, (SELECT s.signed_transaction FROM execution_transactions s
                          WHERE s.signature = t.signature AND s.signed_transaction IS NOT NULL)) AS "bytes!"
               FROM execution_transactions t
               WHERE record = $1 AND kind = $2 AND outcome = 'unknown' ORDER BY created_at"#,
            record.to_string(),
            kind.into_str(),
        );
        Ok(stored.fetch_all(self.pool()).await?)
    }

    /// How many transactions of that kind the chain rejected for this execution.
    pub async fn rejections(&self, record: &Pubkey, kind: TransactionKind) -> Result<u32> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM execution_transactions
               WHERE record = $1 AND kind = $2 AND outcome = 'rejected'"#,
            record.to_string(),
            kind.into_str(),
        );
        let count = count.fetch_one(self.pool()).await?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}
