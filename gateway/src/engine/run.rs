//! Works on one execution until it ends or must wait.
//!
//! A call that this worker has just opened is `fresh`: no other process has sent a transaction of it, so nothing is
//! resolved and the chain is read once. In every other case each step reads the chain first, and earlier transactions
//! are resolved before another one is signed. After an unexpected outcome a call is not fresh any more.

use std::{sync::Arc, time::Duration};

use crtx_http::{ApiError, ErrorCode};
use crtx_store::executions::{Call, ExecutionsError, Lease, State};
use solana_pubkey::Pubkey;
use tokio::sync::watch;
use tracing::{Instrument, Span, field, info_span};

use super::{
    Engine,
    ended::{Ended, EngineError, Stage},
    opening::ToOpen,
    work::Work,
};
use crate::admission::gate::CallPermit;

/// Pause before a worker resumes an execution after an unknown outcome or an error.
pub(super) const RESUME_AFTER: Duration = Duration::from_secs(2);

/// Refused calls are counted under the key that pays, or the wallet that paid.
pub(crate) fn payer_of(call: &Call) -> &Pubkey {
    call.session_key.as_ref().unwrap_or(&call.caller)
}

/// Names the execution in each line of the log, and in the trace.
fn span_of(call: &Call) -> Span {
    info_span!("call", execution = %call.execution_id, agent = %call.agent, outcome = field::Empty)
}

impl Engine {
    /// Starts a call in a task of its own, so that it continues if the caller disconnects. Without `opening`, its wallet
    /// has opened the escrow. The call keeps its permit until it ends.
    pub fn start(
        self: &Arc<Self>,
        lease: Lease,
        call: Call,
        opening: Option<ToOpen>,
        permit: Arc<CallPermit>,
    ) -> watch::Receiver<Stage> {
        let (stage, watched) = watch::channel(Stage::default());
        let engine = Arc::clone(self);
        let span = span_of(&call);
        let task = async move {
            let mut work = Work::new(engine.hold(lease), lease, call, State::Pending);
            let result = engine.open_and_carry_on(&mut work, opening, &stage).await;
            if let Some(ended) = engine.conclude(lease, result).await {
                let spent = work.spent;
                let outcome: &str = (&ended).into();
                engine.figures.waited(spent.chain, spent.creator);
                tracing::info!(outcome, creator = ?spent.creator, chain = ?spent.chain, "call ended");
                if ended.came_to_nothing() {
                    engine.refused.count(payer_of(&work.call), 1);
                }
                stage.send_replace(Stage::Ended(Arc::new(ended), spent));
            }
            drop(permit);
        };
        self.tasks.spawn(task.instrument(span));
        watched
    }

    async fn open_and_carry_on(
        &self,
        work: &mut Work,
        opening: Option<ToOpen>,
        stage: &watch::Sender<Stage>,
    ) -> Result<Ended, EngineError> {
        if let Some(opening) = opening
            && let Some(ended) = self.open(work, opening).instrument(info_span!("opening")).await?
        {
            return Ok(ended);
        }
        stage.send_replace(Stage::Open(work.spent));
        self.carry_on(work).await
    }

    /// Resumes an abandoned execution.
    pub async fn resume(&self, lease: Lease) {
        let mut span = Span::none();
        let result = async {
            let hold = self.hold(lease);
            let execution = self.executions.get(&lease.record).await?.ok_or(EngineError::Incomplete("its row"))?;
            tracing::info!(record = %lease.record, state = execution.state.into_str(), "resuming");
            let mut work = Work {
                dispatched_at: execution.dispatched_at,
                delivered: execution.delivered,
                failure: execution.failure,
                charged: execution.charged,
                ..Work::new(hold, lease, execution.call, execution.state)
            };
            span = span_of(&work.call);
            self.carry_on(&mut work).instrument(span.clone()).await
        };
        let result = result.await;
        self.conclude(lease, result).instrument(span).await;
    }

    async fn carry_on(&self, work: &mut Work) -> Result<Ended, EngineError> {
        loop {
            // An execution that ended has no lease any more, and its renewal can find that before this loop ends.
            if !work.state.is_finished() {
                work.hold.check()?;
            }
            let ended = match work.state {
                State::Reserved => {
                    let error = "the call was interrupted before its escrow was opened; nothing was charged";
                    Some(self.not_opened(work.lease, ApiError::new(ErrorCode::Unavailable, error)).await?)
                }
                State::Opening => self.resolve_opening(work).instrument(info_span!("opening")).await?,
                State::Pending | State::Running => self.dispatch(work).await?,
                State::ResultStored | State::Settling => self.settle(work).instrument(info_span!("settlement")).await?,
                State::Refunding => self.refund(work).instrument(info_span!("refund")).await?,
                State::Completed => Some(match work.settled_elsewhere {
                    Some(settled) => Ended::SettledElsewhere(settled),
                    None => Ended::Completed(Box::new(work.delivered()?.clone()), work.charged()?),
                }),
                State::Failed => Some(Ended::Failed(work.failure()?.clone())),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// Releases the execution, so that a worker resumes it after `pause`.
    pub(super) async fn leave(&self, work: &Work, pause: Duration, ended: Ended) -> Result<Ended, EngineError> {
        self.executions.postpone(work.lease, pause).await?;
        Ok(ended)
    }

    /// After an error, releases the execution, so that a worker resumes it.
    async fn conclude(&self, lease: Lease, result: Result<Ended, EngineError>) -> Option<Ended> {
        match result {
            Ok(ended) => {
                let outcome: &str = (&ended).into();
                Span::current().record("outcome", outcome);
                self.figures.call(outcome, ended.code());
                return Some(ended);
            }
            Err(EngineError::Step(ExecutionsError::LeaseLost)) => {
                self.figures.call("lease_lost", "");
                tracing::warn!(record = %lease.record, "the lease is lost")
            }
            Err(error) => {
                self.figures.call("left", "");
                tracing::error!(record = %lease.record, %error, "the execution is left for a worker to resume");
                if let Err(error) = self.executions.postpone(lease, RESUME_AFTER).await {
                    tracing::warn!(record = %lease.record, %error, "the lease could not be released; it expires later");
                }
            }
        }
        None
    }
}
