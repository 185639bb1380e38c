//! Transactions of an execution: stored before they are sent, and resolved before another is signed.

use std::time::Duration;

use crtx_chain::{
    Outcome, SignedTransaction,
    instructions::{compute_unit_limit, compute_unit_price},
};
use crtx_store::executions::{Landing, Resolution, StoredTransaction, TransactionKind};
use solana_instruction::Instruction;
use uuid::Uuid;

use super::{EngineError, Work};
use crate::state::Parts;

/// What became of a transaction, once more than "unknown" can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landed {
    Yes,
    /// Landed and failed there: the chain is as it was, and refused this very change.
    Rejected,
    /// Did not land and never will. Says nothing about the change it would have made.
    Expired,
    Unknown,
}

impl Parts {
    /// Asks for a random few units more than needed: signed again with the same blockhash, a transaction
    /// would otherwise be the very one that was refused before.
    pub(super) fn budget(&self, units: u32) -> Vec<Instruction> {
        let [few, ..] = Uuid::new_v4().into_bytes();
        let price = self.config.limits.compute_unit_price;
        let price = (price > 0).then(|| compute_unit_price(price));
        [compute_unit_limit(units.saturating_add(u32::from(few)))].into_iter().chain(price).collect()
    }

    /// Sends a stored transaction and waits for at most `patience`.
    pub(super) async fn send(
        &self,
        work: &mut Work,
        transaction: &SignedTransaction,
        patience: Duration,
    ) -> Result<Landed, EngineError> {
        match self.send_unnoted(work, transaction, patience).await? {
            Ok(landing) => {
                self.executions.resolve(&landing.signature, &Resolution::Confirmed { slot: landing.slot }).await?;
                Ok(Landed::Yes)
            }
            Err(landed) => Ok(landed),
        }
    }

    /// The same, but success is not noted yet: the caller notes it together with what follows from it.
    pub(super) async fn send_unnoted(
        &self,
        work: &mut Work,
        transaction: &SignedTransaction,
        patience: Duration,
    ) -> Result<Result<Landing, Landed>, EngineError> {
        let sent = work.hold.unless_lost(self.chain.send_and_confirm(transaction, patience));
        let outcome = work.clock.chain(sent).await?;
        let signature = transaction.signature.to_string();
        match outcome {
            Outcome::Confirmed { slot, error: None } => Ok(Ok(Landing { signature, slot })),
            outcome => Ok(Err(self.note(&signature, &outcome).await?)),
        }
    }

    /// What became of the transactions of that kind that were sent before. A fresh execution has none.
    pub(super) async fn resolve(&self, work: &Work, kind: TransactionKind) -> Result<Landed, EngineError> {
        if work.fresh {
            return Ok(Landed::Expired);
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
            let confirmed = self.chain.confirm(&signed, self.config.limits.settle_patience);
            let outcome = work.hold.unless_lost(confirmed).await?;
            match self.note(&transaction.signature, &outcome).await? {
                Landed::Rejected | Landed::Expired => {}
                landed => return Ok(landed),
            }
        }
        Ok(Landed::Expired)
    }

    /// Keeps what the chain said.
    pub(super) async fn note(&self, signature: &str, outcome: &Outcome) -> Result<Landed, EngineError> {
        let (resolution, landed) = match outcome {
            Outcome::Confirmed { slot, error: None } => (Resolution::Confirmed { slot: *slot }, Landed::Yes),
            Outcome::Confirmed { slot, error: Some(error) } => {
                tracing::warn!(signature, %error, "the chain refused a transaction");
                (Resolution::Rejected { slot: *slot, error: error.to_string() }, Landed::Rejected)
            }
            Outcome::Expired => (Resolution::Expired, Landed::Expired),
            Outcome::Unknown => return Ok(Landed::Unknown),
        };
        self.executions.resolve(signature, &resolution).await?;
        Ok(landed)
    }
}

/// The pause after one more refusal than `before`: doubled each time, up to `longest`.
pub(crate) fn backoff(before: u32, first: Duration, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(before.min(31)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

pub(super) fn stored(transaction: &SignedTransaction) -> StoredTransaction {
    StoredTransaction {
        signature: transaction.signature.to_string(),
        bytes: transaction.bytes.clone(),
        last_valid_block_height: transaction.last_valid_block_height,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pause = |before| backoff(before, Duration::from_secs(1), Duration::from_secs(600)).as_secs();
        assert_eq!([0, 1, 2, 9, 10, 31, u32::MAX].map(pause), [1, 2, 4, 512, 600, 600, 600]);
    }
}
