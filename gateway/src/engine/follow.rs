//! Executions that ended on chain without this gateway. Creator and caller may settle, the creator may report a
//! failure, and anyone may refund after the deadline. The row takes the state of the record, also if this
//! gateway was in another step.

use agent_marketplace::state::ExecutionStatus;
use crtx_chain::Execution;
use crtx_store::executions::{Landing, Reported, State};

use super::{
    Engine,
    ended::{EngineError, refunded_elsewhere},
    view,
    work::Work,
};

/// The chain counts whole seconds and the present one up to its end, so at least this much has passed.
const NEVER_LIMITED_MS: u64 = 1_000;

impl Engine {
    /// Copies the state of an ended record to the row. Returns false if the record is still open.
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

    /// The record is refunded. A stored reason stays, because it is why this gateway wanted the refund.
    async fn follow_refund(&self, work: &mut Work) -> Result<(), EngineError> {
        if work.failure.is_none() {
            self.give_up(work, refunded_elsewhere()).await?;
        }
        self.refunded(work).await
    }

    /// The record is settled, for the result that is stored here or for another result.
    async fn follow_settlement(&self, work: &mut Work) -> Result<(), EngineError> {
        let record = *work.record()?;
        if let Some(delivered) = work.delivered.as_mut().filter(|delivered| delivered.hash == record.result_hash) {
            let reported = view::reported(&record);
            (delivered.tokens_used, delivered.execution_time_ms) = (reported.tokens_used, reported.execution_time_ms);
            return self.completed(work, None).await;
        }
        let settled = view::settled_elsewhere(&record)?;
        tracing::warn!(record = %work.lease.record, "settled on chain without this gateway");
        self.executions.settled_elsewhere(work.lease, &settled).await?;
        (work.state, work.settled_elsewhere) = (State::Completed, Some(settled));
        Ok(())
    }

    /// This gateway's settlement is on chain. `landing`: the transaction that settled, if it is not stored yet.
    pub(super) async fn settled(&self, work: &mut Work, landing: Option<&Landing>) -> Result<(), EngineError> {
        self.take_recorded_time(work).await?;
        self.completed(work, landing).await
    }

    /// Takes the execution time from the settled record, because the program limits it to what passed on chain. Without an
    /// answer of the chain the measured time stays.
    async fn take_recorded_time(&self, work: &mut Work) -> Result<(), EngineError> {
        if work.delivered()?.execution_time_ms <= NEVER_LIMITED_MS {
            return Ok(());
        }
        let is_settled = |record: &Execution| record.settled_by().is_some();
        let seen = self.view_with(&work.call, "the record in its settled state", is_settled);
        match work.hold.unless_lost(seen).await?.and_then(|view| view.record().copied()) {
            Ok(record) => {
                let recorded = view::reported(&record).execution_time_ms;
                work.delivered.iter_mut().for_each(|delivered| delivered.execution_time_ms = recorded);
            }
            Err(error) => {
                tracing::warn!(record = %work.lease.record, %error, "the recorded execution time is not read");
            }
        }
        Ok(())
    }

    /// The settlement of the stored result is on chain. Anybody may have sent it.
    async fn completed(&self, work: &mut Work, landing: Option<&Landing>) -> Result<(), EngineError> {
        if work.charged.is_none() {
            self.refresh_view(work).await?;
        }
        // The result is in the content store, or it is noted that it must be written later.
        if let Some(content) = work.content.take()
            && !content.await.unwrap_or(false)
        {
            self.executions.content_missing(&work.lease.record).await?;
        }
        let delivered = work.delivered()?;
        let reported = Reported { tokens_used: delivered.tokens_used, execution_time_ms: delivered.execution_time_ms };
        self.executions.completed_by(work.lease, &work.charged()?, &reported, landing).await?;
        work.state = State::Completed;
        Ok(())
    }

    /// The refund is on chain.
    pub(super) async fn refunded(&self, work: &mut Work) -> Result<(), EngineError> {
        self.executions.refunded(work.lease).await?;
        work.state = State::Failed;
        Ok(())
    }
}
