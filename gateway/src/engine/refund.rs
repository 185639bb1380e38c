//! Giving the escrow back.

use agent_marketplace::state::{ExecutionStatus, FailureReason};
use crtx_chain::SignedTransaction;
use crtx_store::executions::{State, TransactionKind};
use solana_signer::Signer;

use super::{
    Ended, EngineError, MAX_REJECTIONS, SETTLE_UNITS, Work, note_unseen, settled_elsewhere,
    transactions::{Landed, stored},
};
use crate::state::Parts;

impl Parts {
    /// Pays everything back. `None`: the state has changed, look again.
    pub(super) async fn refund(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        for _ in 0..MAX_REJECTIONS {
            match self.resolve(work, TransactionKind::Fail).await? {
                Landed::Yes => return self.refunded(work).await,
                Landed::No => {}
                Landed::Unknown => return self.leave_refund(work).await,
            }
            if !work.fresh || work.seen.is_none() {
                work.seen = Some(self.see(&work.call).await?);
            }
            match work.record()?.status() {
                Some(ExecutionStatus::Open) => {}
                Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => return self.refunded(work).await,
                _ => {
                    self.give_up(work, &settled_elsewhere()).await?;
                    return self.refunded(work).await;
                }
            }
            let transaction = self.sign_refund(work).await?;
            self.executions.refund_signed(work.lease, &stored(&transaction)).await?;
            match self.send(work, &transaction, self.config.limits.refund_patience).await? {
                Landed::Yes => return self.refunded(work).await,
                Landed::No => self.after_rejection(work).await,
                Landed::Unknown => return self.leave_refund(work).await,
            }
        }
        self.leave_refund(work).await
    }

    async fn sign_refund(&self, work: &mut Work) -> Result<SignedTransaction, EngineError> {
        let reason = match work.failure()?.reason {
            Some(1) => FailureReason::CreatorFailed,
            Some(2) => FailureReason::Timeout,
            _ => FailureReason::InvalidResponse,
        };
        let refund_owner = work.record()?.refund_owner;
        let gateway = &*self.config.keypair;
        let blockhash = work.clock.chain(self.chain.recent_blockhash()).await?;
        let mut instructions = self.budget(SETTLE_UNITS);
        let record = &work.lease.record;
        instructions.push(self.instructions.fail_execution(
            &gateway.pubkey(),
            &work.call.agent,
            record,
            &refund_owner,
            reason,
        ));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    async fn refunded(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let (stored, seen) =
            tokio::join!(self.executions.refunded(work.lease), self.see_finished(&work.call, &mut work.clock));
        stored?;
        note_unseen(seen);
        work.state = State::Failed;
        Ok(None)
    }

    async fn leave_refund(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let failure = work.failure()?.clone();
        self.leave(work, Ended::RefundPending(failure)).await
    }
}
