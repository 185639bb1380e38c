//! Transactions of an execution. They are stored before they are sent, and resolved before another one is signed.

use std::time::Duration;

use crtx_chain::{
    SignedTransaction, Simulation,
    instructions::{compute_unit_limit, compute_unit_price},
};
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::{Landing, StoredTransaction, TransactionKind};
use solana_instruction::Instruction;
use tracing::{Instrument, Span};
use uuid::Uuid;

use super::{Engine, ended::EngineError, work::Work};

/// Generous limit of settlements and refunds: unused units cost nothing unless a priority fee is set.
pub(super) const SETTLE_UNITS: u32 = 60_000;

impl Engine {
    /// Adds a random number of units to the limit: otherwise a transaction that is signed again with the same blockhash
    /// would be identical to the refused one.
    pub(crate) fn budget(units: u32, unit_price: u64) -> Vec<Instruction> {
        let [few, ..] = Uuid::new_v4().into_bytes();
        let price = (unit_price > 0).then(|| compute_unit_price(unit_price));
        [compute_unit_limit(units.saturating_add(u32::from(few)))].into_iter().chain(price).collect()
    }

    /// [`Self::budget`] of work that nobody waits for.
    pub(crate) fn patient_budget(&self, units: u32) -> Vec<Instruction> {
        Self::budget(units, self.config.limits.compute_unit_price)
    }

    /// Sends a stored transaction, waits for at most `patience`, and stores the outcome. Success is stored by the caller,
    /// together with the next state.
    pub(super) async fn send(
        &self,
        work: &mut Work,
        transaction: &SignedTransaction,
        patience: Duration,
    ) -> Result<Outcome, EngineError> {
        let sent = work.hold.unless_lost(self.chain.send_and_confirm(transaction, patience));
        let outcome = work.spent.on_chain(sent).instrument(span_of(transaction)).await?;
        self.figures.transaction(&outcome);
        if !matches!(outcome, Outcome::Confirmed { .. }) {
            self.note(work, &transaction.signature.to_string(), &outcome).await?;
        }
        Ok(outcome)
    }

    /// Resolves the earlier transactions of that kind. Returns `Expired` if there is none: another one may be signed.
    pub(super) async fn resolve(&self, work: &Work, kind: TransactionKind) -> Result<Outcome, EngineError> {
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
            let outcome = work.hold.unless_lost(confirmed).instrument(span_of(&signed)).await?;
            self.note(work, &transaction.signature, &outcome).await?;
            if matches!(outcome, Outcome::Confirmed { .. } | Outcome::Unknown) {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Expired)
    }

    /// Stores the outcome of a transaction of the execution.
    pub(super) async fn note(&self, work: &Work, signature: &str, outcome: &Outcome) -> Result<(), EngineError> {
        if let Outcome::Rejected { error, .. } = outcome {
            tracing::warn!(signature, %error, "the chain refused a transaction");
        }
        Ok(self.executions.resolve(&work.lease.record, signature, outcome).await?)
    }

    /// Simulates a transaction after a refused one, so that another refusal, which counts as well, costs no fee.
    pub(crate) async fn predict_refusal(&self, transaction: &SignedTransaction) -> Option<Outcome> {
        match self.chain.simulate(transaction).await {
            Simulation::Refused(refused) => {
                Some(Outcome::Rejected { slot: 0, error: format!("simulated: {}", refused.error()) })
            }
            _ => None,
        }
    }
}

/// Returns the pause after one more refusal than `before`: doubled each time, up to `longest`.
pub(crate) fn backoff(before: u32, first: Duration, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(before.min(31)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

/// From sending it to its confirmation.
pub(super) fn span_of(transaction: &SignedTransaction) -> Span {
    tracing::info_span!("transaction", signature = %transaction.signature)
}

pub(super) fn stored(transaction: &SignedTransaction) -> StoredTransaction {
    StoredTransaction {
        signature: transaction.signature.to_string(),
        bytes: transaction.bytes.clone(),
        last_valid_block_height: transaction.last_valid_block_height,
    }
}

/// Where a transaction landed on chain.
pub(super) fn landing(transaction: &SignedTransaction, slot: u64) -> Landing {
    Landing { signature: transaction.signature.to_string(), slot }
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
