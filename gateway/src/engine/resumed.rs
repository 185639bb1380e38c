//! Resumes an execution in any state and works on it until it ends or must wait.

use crtx_http::{ApiError, ErrorCode};
use crtx_store::executions::{Lease, State};

use super::{
    Engine,
    ended::Ended,
    error::EngineError,
    work::{ResumedCall, Work},
};

impl Engine {
    /// Resumes an abandoned execution.
    pub async fn resume(&self, lease: Lease) {
        let result = async {
            let hold = self.hold(lease);
            let execution = self.executions.get(&lease.record).await?.ok_or(EngineError::Incomplete("its row"))?;
            let (mut work, state, dispatched_at) = Work::stored(hold, lease, execution);
            tracing::info!(record = %lease.record, state = state.into_str(), "resuming");
            self.carry_on(work.resume(state, dispatched_at)).await
        };
        let result = result.await;
        self.conclude(lease, result).await;
    }

    pub(super) async fn carry_on(&self, mut call: ResumedCall<'_>) -> Result<Ended, EngineError> {
        loop {
            // An execution that ended has no lease any more, and its renewal can find that before this loop ends.
            if !call.state.is_finished() {
                call.work.hold.check()?;
            }
            let ended = match call.state {
                State::Reserved => {
                    let error = "the call was interrupted before its escrow was opened; nothing was charged";
                    Some(self.not_opened(call.work.lease, ApiError::new(ErrorCode::Unavailable, error)).await?)
                }
                State::Opening => self.resolve_opening(&mut call).await?,
                State::Pending | State::Running => self.dispatch(&mut call).await?,
                State::ResultStored | State::Settling => self.settle(&mut call).await?,
                State::Refunding => self.refund(&mut call).await?,
                State::Completed => Some(match call.settled_elsewhere {
                    Some(settled) => Ended::SettledElsewhere(settled),
                    None => Ended::Completed(Box::new(call.work.delivered()?.clone()), call.work.charged()?),
                }),
                State::Failed => Some(Ended::Failed(call.work.failure()?.clone())),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }
}
