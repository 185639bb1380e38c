//! Transactions of an execution: stored before they are sent, and resolved before another is signed.

use std::time::Duration;

use crtx_chain::{
    Outcome, SignedTransaction,
    instructions::{compute_unit_limit, compute_unit_price},
};
use crtx_store::executions::{Resolution, StoredTransaction, TransactionKind};
use solana_instruction::Instruction;
use uuid::Uuid;

use super::{EngineError, Work};
use crate::state::Parts;

/// Pause after a refusal: what made the chain refuse may pass.
const AFTER_REJECTION: Duration = Duration::from_millis(200);

/// What became of a transaction, once more than "unknown" can be said.
pub(super) enum Landed {
    Yes,
    /// Rejected or expired: the chain is as it was.
    No,
    Unknown,
}

impl Parts {
    /// Asks for a random few units more than needed: signed anew with the same blockhash, a transaction
    /// would otherwise be the very one that was refused before.
    pub(super) fn budget(&self, units: u32) -> Vec<Instruction> {
        let [few, ..] = Uuid::new_v4().into_bytes();
        let price = self.config.limits.compute_unit_price;
        let price = (price > 0).then(|| compute_unit_price(price));
        [compute_unit_limit(units.saturating_add(u32::from(few)))].into_iter().chain(price).collect()
    }

    pub(super) async fn send(
        &self,
        work: &mut Work,
        transaction: &SignedTransaction,
        patience: Duration,
    ) -> Result<Landed, EngineError> {
        let outcome = work.clock.chain(self.chain.send_and_confirm(transaction, patience)).await;
        self.note(&transaction.signature.to_string(), &outcome).await
    }

    /// What became of the transactions of that kind that were sent before. A fresh execution has none.
    pub(super) async fn resolve(&self, work: &Work, kind: TransactionKind) -> Result<Landed, EngineError> {
        if work.fresh {
            return Ok(Landed::No);
        }
        for transaction in self.executions.unresolved(&work.lease.record, kind).await? {
            let Ok(signature) = transaction.signature.parse() else {
                return Err(EngineError::Incomplete("a signature"));
            };
            let signed = SignedTransaction {
                signature,
                bytes: transaction.bytes,
                last_valid_block_height: transaction.last_valid_block_height,
            };
            let outcome = self.chain.confirm(&signed, self.config.limits.settle_patience).await;
            match self.note(&transaction.signature, &outcome).await? {
                Landed::No => {}
                landed => return Ok(landed),
            }
        }
        Ok(Landed::No)
    }

    /// Keeps what the chain said.
    pub(super) async fn note(&self, signature: &str, outcome: &Outcome) -> Result<Landed, EngineError> {
        let (resolution, landed) = match outcome {
            Outcome::Confirmed { slot, error: None } => (Resolution::Confirmed { slot: *slot }, Landed::Yes),
            Outcome::Confirmed { slot, error: Some(error) } => {
                tracing::warn!(signature, %error, "the chain refused a transaction");
                (Resolution::Rejected { slot: *slot, error: error.to_string() }, Landed::No)
            }
            Outcome::Expired => (Resolution::Expired, Landed::No),
            Outcome::Unknown => return Ok(Landed::Unknown),
        };
        self.executions.resolve(signature, &resolution).await?;
        Ok(landed)
    }

    /// From here on nothing is taken for granted.
    pub(super) async fn after_rejection(&self, work: &mut Work) {
        work.fresh = false;
        tokio::time::sleep(AFTER_REJECTION).await;
    }
}

pub(super) fn stored(transaction: &SignedTransaction) -> StoredTransaction {
    StoredTransaction {
        signature: transaction.signature.to_string(),
        bytes: transaction.bytes.clone(),
        last_valid_block_height: transaction.last_valid_block_height,
    }
}
