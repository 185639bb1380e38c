//! Refunds the escrow. The pause after each refused refund grows, so that no owner can make the gateway pay for
//! endless refusals.

use std::time::Duration;

use agent_marketplace::state::FailureReason;
use crtx_chain::SignedTransaction;
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::{Failure, State, TransactionKind};
use solana_signer::Signer;

use super::{
    Engine,
    ended::Ended,
    error::EngineError,
    handover::RESUME_AFTER,
    transactions::{backoff, stored},
    view::ChainView,
    work::{ResumedCall, Work},
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

impl Engine {
    /// Refunds the whole escrow. `None`: the state has changed and the next step must be chosen.
    pub(super) async fn refund(&self, call: &mut ResumedCall<'_>) -> Result<Option<Ended>, EngineError> {
        let rejections = self.executions.rejections(&call.work.lease.record, TransactionKind::Fail).await?;
        loop {
            match self.resolve(call.work, TransactionKind::Fail).await? {
                Outcome::Confirmed { .. } => return self.refunded_resumed(call).await.map(|()| None),
                Outcome::Rejected { .. } | Outcome::Expired => {}
                Outcome::Unknown => return self.leave_refund(call.work, RESUME_AFTER).await.map(Some),
            }
            self.refresh_view(call).await?;
            if self.follow_record(call).await? {
                return Ok(None);
            }
            let view = call.view.as_ref().ok_or(EngineError::Missing("the record"))?;
            let transaction = self.sign_refund(call.work, view, rejections).await?;
            self.executions.refund_signed(call.work.lease, &stored(&transaction)).await?;
            if rejections > 0
                && let Some(refusal) = call.work.hold.unless_lost(self.predict_refusal(&transaction)).await?
            {
                self.note(&transaction.signature.to_string(), &refusal).await?;
                return self.leave_refund(call.work, pause_after(rejections)).await.map(Some);
            }
            match self.send(call.work, &transaction, self.config.limits.refund_patience).await? {
                Outcome::Confirmed { .. } => return self.refunded_resumed(call).await.map(|()| None),
                Outcome::Expired => {}
                Outcome::Rejected { .. } => {
                    return self.leave_refund(call.work, pause_after(rejections)).await.map(Some);
                }
                Outcome::Unknown => return self.leave_refund(call.work, RESUME_AFTER).await.map(Some),
            }
        }
    }

    async fn refunded_resumed(&self, call: &mut ResumedCall<'_>) -> Result<(), EngineError> {
        self.refunded(call.work).await?;
        call.state = State::Failed;
        Ok(())
    }

    pub(super) async fn sign_refund(
        &self,
        work: &mut Work,
        view: &ChainView,
        rejections: u32,
    ) -> Result<SignedTransaction, EngineError> {
        let reason = reported_reason(work.failure()?);
        let (mut instructions, refund) = self.refund_of(&work.lease.record, view.record()?, rejections).await?;
        let gateway = &*self.config.keypair;
        instructions.push(self.instructions.fail_execution(&gateway.pubkey(), &refund, reason));
        let blockhash = work.spent.on_chain(self.chain.recent_blockhash()).await?;
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    pub(super) async fn leave_refund(&self, work: &Work, pause: Duration) -> Result<Ended, EngineError> {
        self.leave(work, pause, Ended::RefundPending(work.failure()?.clone())).await
    }
}

/// The reason that the program gets for a stored failure. Without a reason that names the agent, the agent did not fail.
pub(crate) fn reported_reason(failure: &Failure) -> FailureReason {
    use FailureReason::{CreatorFailed, Interrupted, InvalidResponse, Timeout};
    let agents = [CreatorFailed, Timeout, InvalidResponse];
    agents.into_iter().find(|reason| failure.reason == Some(*reason as u8)).unwrap_or(Interrupted)
}

/// Returns the pause after one more refusal than `rejections`.
pub(super) fn pause_after(rejections: u32) -> Duration {
    backoff(rejections, FIRST_PAUSE, LONGEST_PAUSE)
}
