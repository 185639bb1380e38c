//! Executions that somebody else has ended on chain: creator and caller may settle, the creator may report failure,
//! and anybody may refund after the deadline. The row follows the record, whatever was under way here.

use agent_marketplace::state::ExecutionStatus;
use crtx_store::executions::{Landing, Reported, State};

use super::{EngineError, Work, refunded_elsewhere};
use crate::{snapshot, state::Parts};

impl Parts {
    /// Makes the row say what the record says. False if the record is still open: go on.
    pub(super) async fn follow_record(&self, work: &mut Work) -> Result<bool, EngineError> {
        match work.record()?.status() {
            Some(ExecutionStatus::Open) => return Ok(false),
            Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => self.follow_refund(work).await?,
            Some(ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned) => {
                self.follow_settlement(work).await?;
            }
            None => return Err(EngineError::Missing("a record in a state that this gateway knows")),
        }
        Ok(true)
    }

    /// Paid back. A reason that is stored already stays: it is why this gateway wanted the refund.
    async fn follow_refund(&self, work: &mut Work) -> Result<(), EngineError> {
        if work.failure.is_none() {
            self.give_up(work, &refunded_elsewhere()).await?;
        }
        self.refunded(work).await
    }

    /// Paid to the creator, for the result that is stored here or for another.
    async fn follow_settlement(&self, work: &mut Work) -> Result<(), EngineError> {
        let record = *work.record()?;
        if let Some(delivered) = work.delivered.as_mut().filter(|delivered| delivered.hash == record.result_hash) {
            let reported = snapshot::reported(&record);
            (delivered.tokens_used, delivered.execution_time_ms) = (reported.tokens_used, reported.execution_time_ms);
            return self.completed(work).await;
        }
        let settled = snapshot::settled_elsewhere(&record);
        tracing::warn!(record = %work.lease.record, "settled on chain without this gateway");
        self.executions.settled_elsewhere(work.lease, &settled).await?;
        self.mirror.changed(&self.mirrored_accounts(&work.call));
        work.settled_elsewhere = Some(settled);
        work.state = State::Completed;
        Ok(())
    }

    /// The settlement is on chain.
    pub(super) async fn completed(&self, work: &mut Work) -> Result<(), EngineError> {
        self.completed_by(work, None).await
    }

    /// The settlement is on chain, by a transaction of which nothing has been noted yet.
    pub(super) async fn completed_by(&self, work: &mut Work, landing: Option<&Landing>) -> Result<(), EngineError> {
        if work.charged.is_none() {
            self.look(work).await?;
        }
        self.look_after_content(work).await?;
        let delivered = work.delivered()?;
        let reported = Reported { tokens_used: delivered.tokens_used, execution_time_ms: delivered.execution_time_ms };
        self.executions.completed_by(work.lease, &work.charged()?, &reported, landing).await?;
        self.mirror.changed(&self.mirrored_accounts(&work.call));
        work.state = State::Completed;
        Ok(())
    }

    /// Waits until the result is in the content store, or notes that it has to be written later.
    async fn look_after_content(&self, work: &mut Work) -> Result<(), EngineError> {
        let Some(content) = work.content.take() else { return Ok(()) };
        if !content.await.unwrap_or(false) {
            self.executions.content_missing(&work.lease.record).await?;
        }
        Ok(())
    }

    /// The refund is on chain.
    pub(super) async fn refunded(&self, work: &mut Work) -> Result<(), EngineError> {
        self.executions.refunded(work.lease).await?;
        self.mirror.changed(&self.mirrored_accounts(&work.call));
        work.state = State::Failed;
        Ok(())
    }
}
