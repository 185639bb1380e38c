//! Pays the creator for a valid result.
//!
//! A valid result is refunded only if the chain keeps refusing its settlement, its creator has no account that can be
//! paid, or the deadline has passed. An expired settlement says nothing about the result, so it is signed again until the
//! deadline. After a refusal the accounts of the payees are looked at before anything is sent again ([`super::payees`]).

use std::time::Duration;

use agent_marketplace::state::FailureReason;
use crtx_chain::{SignedTransaction, instructions::Settlement};
use crtx_http::ErrorCode;
use crtx_protocol::{call_text::OpeningId, result_hash::ResultHash, transaction::Outcome};
use crtx_store::executions::{State, TransactionKind};
use solana_signer::Signer;

use super::{
    Engine,
    ended::{Ended, EngineError, Step, failure},
    payees::Payable,
    run::RESUME_AFTER,
    transactions::{SETTLE_UNITS, backoff, landing, stored},
    work::Work,
};

/// Number of refused settlements after which the escrow is refunded.
const MAX_REJECTIONS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// During longer pauses the worker releases the execution.
const LONGEST_WAIT_IN_HAND: Duration = Duration::from_secs(2);

impl Engine {
    /// Sends a settlement of the stored result.
    pub(super) async fn settle(&self, work: &mut Work) -> Step {
        work.fresh = false;
        let transaction = match work.settlement.take() {
            Some(stored) => stored,
            None => match self.next_settlement(work).await? {
                (Some(transaction), _) => transaction,
                (None, ended) => return Ok(ended),
            },
        };
        let outcome = match work.shared_outcome.take() {
            Some(outcome) => self.outcome_of_shared(work, &transaction, outcome).await?,
            None => self.send(work, &transaction, self.config.limits.settle_patience).await?,
        };
        match outcome {
            Outcome::Confirmed { slot } => self.settled(work, Some(&landing(&transaction, slot))).await?,
            Outcome::Expired => {}
            Outcome::Unknown => return self.leave(work, RESUME_AFTER, Ended::StillSettling).await.map(Some),
            Outcome::Rejected { .. } => {
                self.together.serve_alone(work.call.agent);
                let rejections = self.executions.rejections(&work.lease.record, TransactionKind::Complete).await?;
                let pause = backoff(rejections.saturating_sub(1), FIRST_PAUSE, LONGEST_PAUSE);
                if pause > LONGEST_WAIT_IN_HAND {
                    return self.leave(work, pause, Ended::StillSettling).await.map(Some);
                }
                work.hold.unless_lost(tokio::time::sleep(pause)).await?;
            }
        }
        Ok(None)
    }

    /// Signs and stores a settlement once no earlier one can land. `None`: the state has changed, or the work has ended.
    async fn next_settlement(
        &self,
        work: &mut Work,
    ) -> Result<(Option<SignedTransaction>, Option<Ended>), EngineError> {
        if work.content.is_none() {
            // An earlier process may have died between the row and the content.
            work.content = Some(self.write_content(work.delivered()?.result.clone()));
        }
        match self.resolve(work, TransactionKind::Complete).await? {
            Outcome::Confirmed { .. } => return self.settled(work, None).await.map(|()| (None, None)),
            Outcome::Rejected { .. } | Outcome::Expired => {}
            Outcome::Unknown => {
                let ended = self.leave(work, RESUME_AFTER, Ended::StillSettling).await?;
                return Ok((None, Some(ended)));
            }
        }
        let rejections = self.executions.rejections(&work.lease.record, TransactionKind::Complete).await?;
        self.refresh_view(work).await?;
        if self.follow_record(work).await? {
            return Ok((None, None));
        }
        let view = work.view()?;
        let too_late = view.now_unix_s > view.terms()?.deadline_unix_s;
        if rejections > 0 && !too_late {
            match self.payable(work).await {
                Ok(Payable::Yes) => {}
                Ok(Payable::CreatorCannot) => {
                    let problem = "the agent could not be paid: its creator's wallet has no USDC account any more that \
                                   can receive money";
                    let failure = failure(ErrorCode::ExecutionFailed, Some(FailureReason::CreatorFailed), problem);
                    return self.give_up(work, failure).await.map(|()| (None, None));
                }
                waits => {
                    tracing::info!(record = %work.lease.record, ?waits, "the settlement waits until it can be paid out");
                    let pause = if waits.is_err() { RESUME_AFTER } else { LONGEST_PAUSE };
                    let ended = self.leave(work, pause, Ended::StillSettling).await?;
                    return Ok((None, Some(ended)));
                }
            }
        }
        if too_late || rejections >= MAX_REJECTIONS {
            let problem = if too_late {
                "the result was good, but it could not be settled before the deadline"
            } else {
                "the result was good, but the chain refused to settle it"
            };
            // The agent did its part, so this is not its failure.
            let failure = failure(ErrorCode::ExecutionFailed, Some(FailureReason::Interrupted), problem);
            return self.give_up(work, failure).await.map(|()| (None, None));
        }
        let transaction = self.sign_settlement(work).await?;
        self.executions.signed(work.lease, TransactionKind::Complete, &stored(&transaction)).await?;
        work.state = State::Settling;
        Ok((Some(transaction), None))
    }

    /// Whether the payees of an open record can be paid.
    async fn payable(&self, work: &Work) -> Result<Payable, EngineError> {
        let fee = work.record()?.split().map_or(0, |split| split.platform);
        work.hold.unless_lost(self.look_at_payees(work.view()?.payees()?, fee)).await?
    }

    pub(super) async fn sign_settlement(&self, work: &mut Work) -> Result<SignedTransaction, EngineError> {
        let settlement = self.settlement_of(work)?;
        let gateway = &*self.config.keypair;
        let blockhash = work.spent.on_chain(self.chain.recent_blockhash()).await?;
        // The settlement must directly follow its proof, so the compute budget comes first.
        let mut instructions = Self::budget(SETTLE_UNITS, self.settlement_price(work)?);
        instructions.extend(self.instructions.complete_execution(&gateway.pubkey(), &settlement));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    /// What its settlement offers for a compute unit.
    pub(super) fn settlement_price(&self, work: &Work) -> Result<u64, EngineError> {
        Ok(self.unit_price(&work.call.agent, Some(work.view()?.terms()?.deadline_unix_s)))
    }

    /// What settles the result.
    pub(super) fn settlement_of(&self, work: &Work) -> Result<Settlement, EngineError> {
        let view = work.view()?;
        let (record, delivered) = (view.record()?, work.delivered()?);
        let binding = record.binding == 1;
        let signature = if binding { delivered.call_signature } else { Some(delivered.signature) };
        let [creator_token, treasury_token] = view.payees()?.map(|owner| self.payee(owner));
        let record_address = work.lease.record.to_bytes();
        Ok(Settlement {
            agent: work.call.agent,
            opening: OpeningId { record: record_address, opened_at_unix_s: record.opened_at_unix_s },
            rent_payer: record.rent_payer,
            creator_token,
            treasury_token,
            result_key: view.terms()?.result_key,
            result_hash: ResultHash(delivered.hash),
            binding,
            signature: signature.ok_or(EngineError::Incomplete("its call signature"))?,
            execution_time_ms: delivered.execution_time_ms,
            tokens_used: delivered.tokens_used,
        })
    }
}
