//! Pays the creator for a valid result.
//!
//! A valid result is refunded only if the chain keeps refusing its settlement or the deadline has passed. An expired
//! settlement says nothing about the result, so it is signed again until the deadline.

use std::time::Duration;

use crtx_chain::{SignedTransaction, instructions::Settlement};
use crtx_protocol::{result_hash::ResultHash, transaction::Outcome};
use crtx_store::executions::{State, TransactionKind};
use solana_signer::Signer;

use super::{
    Engine,
    ended::Ended,
    error::EngineError,
    failure::not_settled,
    handover::RESUME_AFTER,
    transactions::{SETTLE_UNITS, backoff, landing, stored},
    view::{self, ChainView},
    work::{ResumedCall, Work},
};

/// Number of refused settlements after which the escrow is refunded.
const MAX_REJECTIONS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// During longer pauses the worker releases the execution.
const LONGEST_WAIT_IN_HAND: Duration = Duration::from_secs(2);

/// What to do with a result that is not settled yet.
enum Next {
    Send(SignedTransaction),
    /// The state has changed, so the next step must be chosen.
    StateChanged,
    /// The execution is released to a worker.
    Left(Ended),
}

impl Engine {
    /// Settles the stored result. `None`: the state has changed and the next step must be chosen.
    pub(super) async fn settle(&self, call: &mut ResumedCall<'_>) -> Result<Option<Ended>, EngineError> {
        self.keep_content(call.work).await?;
        let mut rejections = self.executions.rejections(&call.work.lease.record, TransactionKind::Complete).await?;
        loop {
            let transaction = match self.next_settlement(call, rejections).await? {
                Next::Send(transaction) => transaction,
                Next::StateChanged => return Ok(None),
                Next::Left(ended) => return Ok(Some(ended)),
            };
            match self.send_unnoted(call.work, &transaction, self.config.limits.settle_patience).await? {
                Outcome::Confirmed { slot } => {
                    self.settled(call.work, Some(&landing(&transaction, slot))).await?;
                    call.state = State::Completed;
                    return Ok(None);
                }
                Outcome::Expired => {}
                Outcome::Unknown => return self.leave(call.work, RESUME_AFTER, Ended::StillSettling).await.map(Some),
                Outcome::Rejected { .. } => {
                    let pause = pause_after(rejections);
                    rejections = rejections.saturating_add(1);
                    if pause > LONGEST_WAIT_IN_HAND {
                        return self.leave(call.work, pause, Ended::StillSettling).await.map(Some);
                    }
                    call.work.hold.unless_lost(tokio::time::sleep(pause)).await?;
                }
            }
        }
    }

    /// Signs and stores a settlement once no earlier one can land any more.
    async fn next_settlement(&self, call: &mut ResumedCall<'_>, rejections: u32) -> Result<Next, EngineError> {
        match self.resolve(call.work, TransactionKind::Complete).await? {
            Outcome::Confirmed { .. } => {
                self.settled(call.work, None).await?;
                call.state = State::Completed;
                return Ok(Next::StateChanged);
            }
            Outcome::Rejected { .. } | Outcome::Expired => {}
            Outcome::Unknown => {
                return self.leave(call.work, RESUME_AFTER, Ended::StillSettling).await.map(Next::Left);
            }
        }
        if self.ended_or_too_late(call).await? {
            return Ok(Next::StateChanged);
        }
        if rejections >= MAX_REJECTIONS {
            let failure = not_settled("the result was good, but the chain refused to settle it");
            return self.give_up_resumed(call, &failure).await.map(|()| Next::StateChanged);
        }
        let view = call.view.as_ref().ok_or(EngineError::Missing("the record"))?;
        let transaction = self.sign_settlement(call.work, view).await?;
        self.executions.settling(call.work.lease, &stored(&transaction)).await?;
        call.state = State::Settling;
        Ok(Next::Send(transaction))
    }

    /// Writes the content, unless a write is in progress. An earlier process may have died between the row and the
    /// content.
    async fn keep_content(&self, work: &Work) -> Result<(), EngineError> {
        if work.content.is_none() && !self.content.try_put(work.delivered()?.result.clone()).await {
            self.executions.content_missing(&work.lease.record).await?;
        }
        Ok(())
    }

    /// Reads the record. Returns true if there is nothing to settle: the creator or the caller ended the execution,
    /// or the deadline has passed.
    async fn ended_or_too_late(&self, call: &mut ResumedCall<'_>) -> Result<bool, EngineError> {
        self.refresh_view(call).await?;
        if self.follow_record(call).await? {
            return Ok(true);
        }
        let view = call.view()?;
        if view.now_unix_s > view.terms()?.deadline_unix_s {
            let failure = not_settled("the result was good, but it could not be settled before the deadline");
            self.give_up_resumed(call, &failure).await?;
            return Ok(true);
        }
        Ok(false)
    }

    pub(super) async fn sign_settlement(
        &self,
        work: &mut Work,
        view: &ChainView,
    ) -> Result<SignedTransaction, EngineError> {
        let (record, terms) = (view.record()?, view.terms()?);
        let delivered = work.delivered()?;
        let binding = view::is_bound(record);
        let signature = if binding { delivered.call_signature } else { Some(delivered.signature) };
        let settlement = Settlement {
            agent: work.call.agent,
            record: work.lease.record,
            rent_payer: record.rent_payer,
            creator: view.listing.ok_or(EngineError::Missing("the listing"))?.creator,
            treasury_owner: view.config.ok_or(EngineError::Missing("the configuration"))?.treasury_owner,
            result_key: terms.result_key,
            result_hash: ResultHash(delivered.hash),
            binding,
            signature: signature.ok_or(EngineError::Incomplete("its call signature"))?,
            execution_time_ms: delivered.execution_time_ms,
            tokens_used: delivered.tokens_used,
        };
        let gateway = &*self.config.keypair;
        let blockhash = work.spent.on_chain(self.chain.recent_blockhash()).await?;
        // The settlement must directly follow its proof, so the compute budget comes first.
        let mut instructions = self.budget(SETTLE_UNITS);
        instructions.extend(self.instructions.complete_execution(&gateway.pubkey(), &settlement));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }
}

/// Returns the pause after one more refusal than `rejections`.
pub(super) fn pause_after(rejections: u32) -> Duration {
    backoff(rejections, FIRST_PAUSE, LONGEST_PAUSE)
}
