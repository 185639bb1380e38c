//! Executions that ended on chain without this gateway. Creator and caller may settle, the creator may report a
//! failure, and anyone may refund after the deadline. The row takes the state of the record, also if this
//! gateway was in another step.

use agent_marketplace::state::ExecutionStatus;
use crtx_store::executions::{Landing, Reported, State};

use super::{
    Engine,
    error::EngineError,
    failure::refunded_elsewhere,
    view,
    work::{ResumedCall, Work},
};

/// The chain counts whole seconds and the present one up to its end, so at least this much has passed.
const NEVER_LIMITED_MS: u64 = 1_000;

impl Engine {
    /// Copies the state of an ended record to the row. Returns false if the record is still open.
    pub(super) async fn follow_record(&self, call: &mut ResumedCall<'_>) -> Result<bool, EngineError> {
        match call.record()?.status() {
            Some(ExecutionStatus::Open) => return Ok(false),
            Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => self.follow_refund(call).await?,
            Some(ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned) => {
                self.follow_settlement(call).await?;
            }
            None => return Err(EngineError::Missing("a record in a state that this gateway knows")),
        }
        Ok(true)
    }

    /// The record is refunded. A reason that is already stored stays, because it is why this gateway wanted the
    /// refund.
    async fn follow_refund(&self, call: &mut ResumedCall<'_>) -> Result<(), EngineError> {
        if call.work.failure.is_none() {
            self.give_up(call.work, &refunded_elsewhere()).await?;
        }
        self.refunded(call.work).await?;
        call.state = State::Failed;
        Ok(())
    }

    /// The record is settled, for the result that is stored here or for another result.
    async fn follow_settlement(&self, call: &mut ResumedCall<'_>) -> Result<(), EngineError> {
        let record = *call.record()?;
        call.state = State::Completed;
        if let Some(delivered) = call.work.delivered.as_mut().filter(|delivered| delivered.hash == record.result_hash) {
            let reported = view::reported(&record);
            (delivered.tokens_used, delivered.execution_time_ms) = (reported.tokens_used, reported.execution_time_ms);
            return self.completed(call.work, None).await;
        }
        let settled = view::settled_elsewhere(&record)?;
        tracing::warn!(record = %call.work.lease.record, "settled on chain without this gateway");
        self.executions.settled_elsewhere(call.work.lease, &settled).await?;
        call.settled_elsewhere = Some(settled);
        Ok(())
    }

    /// This gateway's settlement is on chain. `landing`: the transaction that settled, if it is not stored yet.
    pub(super) async fn settled(&self, work: &mut Work, landing: Option<&Landing>) -> Result<(), EngineError> {
        self.take_recorded_time(work).await?;
        self.completed(work, landing).await
    }

    /// Takes the execution time from the settled record, because the program limits it to what passed on chain. A time
    /// that is never limited is not read. The settlement does not depend on this: without an answer of the chain the
    /// measured time stays.
    async fn take_recorded_time(&self, work: &mut Work) -> Result<(), EngineError> {
        if work.delivered()?.execution_time_ms <= NEVER_LIMITED_MS {
            return Ok(());
        }
        let record = match work.hold.unless_lost(self.view_of_settled(&work.call)).await? {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(record = %work.lease.record, %error, "the recorded execution time is not read");
                return Ok(());
            }
        };
        if let Some(delivered) = &mut work.delivered {
            delivered.execution_time_ms = view::reported(&record).execution_time_ms;
        }
        Ok(())
    }

    /// The settlement of the stored result is on chain. Anybody may have sent it.
    pub(super) async fn completed(&self, work: &mut Work, landing: Option<&Landing>) -> Result<(), EngineError> {
        if work.charged.is_none() {
            let view = work.hold.unless_lost(self.view_of_open(&work.call)).await??;
            work.saw(&view);
        }
        self.await_content(work).await?;
        let delivered = work.delivered()?;
        let reported = Reported { tokens_used: delivered.tokens_used, execution_time_ms: delivered.execution_time_ms };
        self.executions.completed_by(work.lease, &work.charged()?, &reported, landing).await?;
        Ok(())
    }

    /// Waits until the result is in the content store, or notes that it must be written later.
    async fn await_content(&self, work: &mut Work) -> Result<(), EngineError> {
        let Some(content) = work.content.take() else { return Ok(()) };
        if !content.await.unwrap_or(false) {
            self.executions.content_missing(&work.lease.record).await?;
        }
        Ok(())
    }

    /// The refund is on chain.
    pub(super) async fn refunded(&self, work: &Work) -> Result<(), EngineError> {
        self.executions.refunded(work.lease).await?;
        Ok(())
    }
}
