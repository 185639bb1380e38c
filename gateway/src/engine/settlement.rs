//! Paying the creator for a good result.
//!
//! A good result is refunded only when the chain keeps refusing its settlement or the deadline has passed. A
//! settlement that merely expired says nothing about the result: it is signed again for as long as there is time.

use std::time::Duration;

use agent_marketplace::state::ExecutionStatus;
use crtx_chain::{SignedTransaction, instructions::Settlement};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::executions::{State, TransactionKind};
use solana_signer::Signer;

use super::{
    Ended, EngineError, RESUME_AFTER, SETTLE_UNITS, Work,
    failure::failed,
    transactions::{Landed, backoff, stored},
};
use crate::state::Parts;

/// Settlements that the chain refuses before the escrow is given back.
const MAX_REJECTIONS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Pauses longer than this are spent without holding the execution.
const LONGEST_WAIT_IN_HAND: Duration = Duration::from_secs(2);

/// What to do about a result that is not settled yet.
enum Next {
    Send(SignedTransaction),
    /// The state has changed.
    LookAgain,
    /// Left to a worker.
    Left(Ended),
}

impl Parts {
    /// Settles the stored result. `None`: the state has changed, look again.
    pub(super) async fn settle(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        if !work.fresh {
            self.keep_content(work).await?;
        }
        let mut rejections = self.rejections(work, TransactionKind::Complete).await?;
        loop {
            let transaction = match work.settlement.take() {
                Some(transaction) => transaction,
                None => match self.next_settlement(work, rejections).await? {
                    Next::Send(transaction) => transaction,
                    Next::LookAgain => return Ok(None),
                    Next::Left(ended) => return Ok(Some(ended)),
                },
            };
            let landed = match self.send_unnoted(work, &transaction, self.config.limits.settle_patience).await? {
                Ok(landing) => return self.completed_by(work, Some(&landing)).await.map(|()| None),
                Err(landed) => landed,
            };
            match landed {
                Landed::Yes => return self.completed(work).await.map(|()| None),
                Landed::Expired => {}
                Landed::Unknown => return self.leave(work, RESUME_AFTER, Ended::StillSettling).await,
                Landed::Rejected => {
                    let pause = backoff(rejections, FIRST_PAUSE, LONGEST_PAUSE);
                    rejections = rejections.saturating_add(1);
                    if pause > LONGEST_WAIT_IN_HAND {
                        return self.leave(work, pause, Ended::StillSettling).await;
                    }
                    work.hold.unless_lost(tokio::time::sleep(pause)).await?;
                }
            }
            // From here on nothing is taken for granted.
            work.fresh = false;
        }
    }

    /// Signs and stores a settlement, once it is certain that no other can land any more.
    async fn next_settlement(&self, work: &mut Work, rejections: u32) -> Result<Next, EngineError> {
        match self.resolve(work, TransactionKind::Complete).await? {
            Landed::Yes => return self.completed(work).await.map(|()| Next::LookAgain),
            Landed::Rejected | Landed::Expired => {}
            Landed::Unknown => {
                self.executions.postpone(work.lease, RESUME_AFTER).await?;
                return Ok(Next::Left(Ended::StillSettling));
            }
        }
        if self.ended_or_too_late(work).await? {
            return Ok(Next::LookAgain);
        }
        if rejections >= MAX_REJECTIONS {
            let failure = failed("the result was good, but the chain refused to settle it");
            return self.give_up(work, &failure).await.map(|()| Next::LookAgain);
        }
        let transaction = self.sign_settlement(work).await?;
        self.executions.settling(work.lease, &stored(&transaction)).await?;
        work.state = State::Settling;
        Ok(Next::Send(transaction))
    }

    /// The process before may have died between the row and the content.
    async fn keep_content(&self, work: &Work) -> Result<(), EngineError> {
        let missing = !self.content.try_put(work.delivered()?.result.clone()).await;
        if missing {
            self.executions.content_missing(&work.lease.record).await?;
        }
        Ok(())
    }

    /// Looks at the record, unless this worker opened it a moment ago. True if there is nothing to settle any more:
    /// somebody else ended the execution, or the deadline has passed.
    async fn ended_or_too_late(&self, work: &mut Work) -> Result<bool, EngineError> {
        if work.fresh && work.seen.is_some() {
            return Ok(false);
        }
        self.look(work).await?;
        if self.follow_record(work).await? {
            return Ok(true);
        }
        let now = work.seen.as_ref().ok_or(EngineError::Missing("the record"))?.now_unix_s;
        let record = work.record()?;
        if record.status() == Some(ExecutionStatus::Open) && now > record.deadline_unix_s {
            self.give_up(work, &failed("the result could not be settled before the deadline")).await?;
            return Ok(true);
        }
        Ok(false)
    }

    pub(super) async fn sign_settlement(&self, work: &mut Work) -> Result<SignedTransaction, EngineError> {
        let seen = work.seen.as_ref().ok_or(EngineError::Missing("the record"))?;
        let record = seen.record.as_ref().ok_or(EngineError::Missing("the record"))?;
        let delivered = work.delivered()?;
        let settlement = Settlement {
            agent: work.call.agent,
            record: work.lease.record,
            creator: seen.listing.ok_or(EngineError::Missing("the listing"))?.creator,
            treasury_owner: seen.config.ok_or(EngineError::Missing("the configuration"))?.treasury_owner,
            result_key: record.result_key,
            result_hash: ResultHash(delivered.hash),
            signature: delivered.signature,
            execution_time_ms: delivered.execution_time_ms,
            tokens_used: delivered.tokens_used,
        };
        let gateway = &*self.config.keypair;
        let blockhash = work.clock.chain(self.chain.recent_blockhash()).await?;
        // Nothing may come between the proof and the settlement, so the budget stands first.
        let mut instructions = self.budget(SETTLE_UNITS);
        instructions.extend(self.instructions.complete_execution(&gateway.pubkey(), &settlement));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }
}
