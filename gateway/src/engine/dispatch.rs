//! Calls the creator's service and stores the answer.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use crtx_store::executions::{Delivered, Failure, State};
use tokio::task::JoinHandle;

use super::{
    Engine,
    ended::Ended,
    error::EngineError,
    failure,
    view::{self, ChainView},
    work::{ResumedCall, Work},
};
use crate::creator::CreatorError;

/// Time reserved for settlement when a call is not sent to the creator right after its opening.
pub(crate) const SETTLE_MARGIN_S: i64 = 15;
/// With less time than this, the creator is not called again.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);

/// How long the creator may take to answer.
#[derive(Clone, Copy)]
struct Patience {
    time: Duration,
    /// It is the full time of the listing: an answer that comes later is the creator's failure.
    whole: bool,
}

impl Engine {
    /// Sends an interrupted call to the creator again, if there is time. `None`: the state has changed and the next
    /// step must be chosen.
    pub(super) async fn dispatch(&self, call: &mut ResumedCall<'_>) -> Result<Option<Ended>, EngineError> {
        self.refresh_view(call).await?;
        if self.follow_record(call).await? {
            return Ok(None);
        }
        let patience = patience_left(call)?;
        if patience.time < SHORTEST_PATIENCE {
            return self.give_up_resumed(call, &failure::interrupted()).await.map(|()| None);
        }
        self.executions.dispatching(call.work.lease).await?;
        let sent_at = *call.dispatched_at.get_or_insert_with(Utc::now);
        call.state = State::Running;
        let seen = call.view.take();
        let (checked, view) = self.ask_and_check(call.work, patience.time, seen).await?;
        call.saw(view);
        match checked {
            Ok(delivered) => self.keep_result(call, delivered, sent_at).await?,
            Err(error) => {
                let failure = if patience.whole { error.failure() } else { after_interruption(&error) };
                self.give_up_resumed(call, &failure).await?;
            }
        }
        Ok(None)
    }

    /// Calls the creator and reads the record at the same time, because the record says who has to sign the answer,
    /// and for what. `seen`: an earlier read of the record.
    pub(super) async fn ask_and_check(
        &self,
        work: &mut Work,
        patience: Duration,
        seen: Option<ChainView>,
    ) -> Result<(Result<Delivered, CreatorError>, ChainView), EngineError> {
        let started = Instant::now();
        let (answer, view) = tokio::join!(
            work.hold.unless_lost(self.creators.ask(&work.call, patience)),
            self.see_what_is_charged(work, seen),
        );
        let (answer, view) = (answer?, view?);
        work.saw(&view);
        work.spent.creator = work.spent.creator.saturating_add(match &answer {
            Ok(answer) => answer.elapsed,
            Err(_) => started.elapsed(),
        });
        let signatory = view.signatory(&work.call.record)?;
        Ok((answer.and_then(|answer| answer.check(work.call.execution_id, &signatory)), view))
    }

    /// Reads the record unless `seen` has it. If the price fell before the opening, the charged amount is stored
    /// immediately, so that a running call shows its real cost.
    async fn see_what_is_charged(&self, work: &Work, seen: Option<ChainView>) -> Result<ChainView, EngineError> {
        let view = match seen {
            Some(view) => view,
            None => work.hold.unless_lost(self.view_of_open(&work.call)).await??,
        };
        if let Some(charged) = view.record.as_ref().and_then(|record| view::charged(record))
            && charged.amount != work.call.amount
        {
            self.executions.charged(work.lease, &charged).await?;
        }
        Ok(view)
    }

    /// Stores the result before anything is settled.
    async fn keep_result(
        &self,
        call: &mut ResumedCall<'_>,
        mut delivered: Delivered,
        sent_at: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let since_first = u64::try_from(Utc::now().signed_duration_since(sent_at).num_milliseconds()).unwrap_or(0);
        delivered.execution_time_ms = since_first.max(delivered.execution_time_ms);
        let result = delivered.result.clone();
        call.work.delivered = Some(delivered);
        self.executions.result_stored(call.work.lease, call.work.delivered()?).await?;
        call.state = State::ResultStored;
        call.work.content = Some(self.write_content(result));
        Ok(())
    }

    /// Writes a stored result to the content store while the settlement is in progress. Completion waits for it. The
    /// content store may be slow or fail, but the row keeps the result, serves it, and it is written again when the
    /// store works.
    pub(super) fn write_content(&self, result: String) -> JoinHandle<bool> {
        let content = self.content.clone();
        tokio::spawn(async move { content.try_put(result).await })
    }

    /// Stores the reason and starts the refund of the escrow.
    pub(super) async fn give_up(&self, work: &mut Work, failure: &Failure) -> Result<(), EngineError> {
        tracing::info!(record = %work.lease.record, reason = failure.message, "refunding");
        self.executions.refunding(work.lease, failure).await?;
        work.failure = Some(failure.clone());
        Ok(())
    }

    pub(super) async fn give_up_resumed(
        &self,
        call: &mut ResumedCall<'_>,
        failure: &Failure,
    ) -> Result<(), EngineError> {
        self.give_up(call.work, failure).await?;
        call.state = State::Refunding;
        Ok(())
    }

    /// Reads the chain and keeps the amounts that the record charges.
    pub(super) async fn refresh_view(&self, call: &mut ResumedCall<'_>) -> Result<(), EngineError> {
        let view = call.work.hold.unless_lost(self.view_of_open(&call.work.call)).await??;
        call.saw(view);
        Ok(())
    }
}

/// Returns the time left for an interrupted call. The creator may still have its full time, because the deadline of a
/// record is later than the time-out.
fn patience_left(call: &ResumedCall<'_>) -> Result<Patience, EngineError> {
    let promised = Duration::from_secs(u64::from(call.work.call.timeout_seconds));
    let view = call.view()?;
    let left = view.terms()?.deadline_unix_s.saturating_sub(view.now_unix_s).saturating_sub(SETTLE_MARGIN_S);
    let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
    Ok(Patience { time: promised.min(left), whole: left >= promised })
}

/// The failure of a call when the creator had less than its promised time, or answered a process that died.
fn after_interruption(error: &CreatorError) -> Failure {
    match error {
        CreatorError::Reported(_) | CreatorError::Invalid(_) | CreatorError::AnswerTooLarge => error.failure(),
        CreatorError::Timeout(_)
        | CreatorError::NotCallable(_)
        | CreatorError::Unreachable
        | CreatorError::Dropped
        | CreatorError::NotKept => failure::interrupted(),
    }
}
