//! The call to the creator's service, and what is kept of its answer.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use crtx_store::executions::{Delivered, Failure, State};

use super::{Ended, EngineError, Work, failure, transactions::stored};
use crate::{creator::CreatorError, state::Parts};

/// Time kept back for settlement when a call is sent to the creator a second time.
const SETTLE_MARGIN_S: i64 = 15;
/// With less time than this the creator is not asked again.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);

/// How long a result that is not stored yet waits for a recent block hash, which is mostly known already.
const SIGNING_PATIENCE: Duration = Duration::from_millis(50);

/// How long the creator has for its answer.
#[derive(Clone, Copy)]
struct Patience {
    time: Duration,
    /// The time that the listing promises: an answer that does not come within it is the creator's failure.
    whole: bool,
}

impl Parts {
    /// Sends the call to the creator and checks what comes back. `None`: the state has changed, look again.
    pub(super) async fn dispatch(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let mut patience = Patience { time: Duration::from_secs(u64::from(work.call.timeout_seconds)), whole: true };
        if !work.fresh {
            self.look(work).await?;
            if self.follow_record(work).await? {
                return Ok(None);
            }
            patience = self.patience_left(work, patience)?;
            if patience.time < SHORTEST_PATIENCE {
                return self.give_up(work, &failure::interrupted()).await.map(|()| None);
            }
        }
        // A call that this worker has just opened was noted as running in the same step.
        if !work.fresh || work.state != State::Running {
            self.executions.dispatching(work.lease).await?;
        }
        let sent_at = *work.dispatched_at.get_or_insert_with(Utc::now);
        work.state = State::Running;
        match self.ask_and_check(work, patience.time).await? {
            Ok(delivered) => self.keep_result(work, delivered, sent_at).await?,
            Err(error) => {
                let failure = if patience.whole { error.failure() } else { after_interruption(&error) };
                self.give_up(work, &failure).await?;
            }
        }
        Ok(None)
    }

    /// A call that was interrupted is sent again: the creator may still have all of its time, since a record's
    /// deadline is later than the time-out.
    fn patience_left(&self, work: &Work, promised: Patience) -> Result<Patience, EngineError> {
        let now = work.seen.as_ref().ok_or(EngineError::Missing("the record"))?.now_unix_s;
        let left = work.record()?.deadline_unix_s.saturating_sub(now).saturating_sub(SETTLE_MARGIN_S);
        let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
        Ok(Patience { time: promised.time.min(left), whole: left >= promised.time })
    }

    /// The record is read while the creator works: its result key decides who may have signed.
    async fn ask_and_check(
        &self,
        work: &mut Work,
        patience: Duration,
    ) -> Result<Result<Delivered, CreatorError>, EngineError> {
        let started = Instant::now();
        let known = work.seen.take();
        let (answer, seen) = tokio::join!(
            work.hold.unless_lost(self.creators.ask(&work.call, patience)),
            self.see_what_is_charged(work, known),
        );
        let answer = answer?;
        work.saw(seen?);
        work.clock.creator = work.clock.creator.saturating_add(match &answer {
            Ok(answer) => answer.elapsed,
            Err(_) => started.elapsed(),
        });
        let result_key = work.record()?.result_key;
        Ok(answer.and_then(|answer| answer.check(work.call.execution_id, &result_key)))
    }

    /// Reads the record unless it is `known`. A price that fell before the opening is noted at once, so that what is
    /// shown of a running call is what it costs.
    async fn see_what_is_charged(
        &self,
        work: &Work,
        known: Option<crate::snapshot::Snapshot>,
    ) -> Result<crate::snapshot::Snapshot, EngineError> {
        let seen = match known {
            Some(seen) => seen,
            None => work.hold.unless_lost(self.see(&work.call)).await??,
        };
        self.mirror.changed(&self.mirrored_accounts(&work.call));
        if let Some(charged) = seen.record.as_ref().map(crate::snapshot::charged)
            && charged.amount != work.call.amount
        {
            self.executions.charged(work.lease, &charged).await?;
        }
        Ok(seen)
    }

    /// The row is stored before anything is settled. The content is written during the settlement, and looked after before the
    /// execution counts as completed: the store may be slow or broken, but the result is safe in its row, is served
    /// from there, and is written to the content store as soon as that works.
    async fn keep_result(
        &self,
        work: &mut Work,
        mut delivered: Delivered,
        sent_at: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let since_first = u64::try_from(Utc::now().signed_duration_since(sent_at).num_milliseconds()).unwrap_or(0);
        if !work.fresh {
            delivered.execution_time_ms = since_first.max(delivered.execution_time_ms);
        }
        // The program refuses times that the execution cannot have taken.
        let longest_ms = work.record()?.longest_execution_time_ms().unwrap_or(0);
        delivered.execution_time_ms = delivered.execution_time_ms.min(longest_ms);
        let (content, result) = (self.content.clone(), delivered.result.clone());
        work.delivered = Some(delivered);
        if !self.store_with_settlement(work).await? {
            self.executions.result_stored(work.lease, work.delivered()?).await?;
            work.state = State::ResultStored;
        }
        // Only now: both wait for the same disk, and the caller waits for the row.
        work.content = Some(tokio::spawn(async move { content.try_put(result).await }));
        Ok(())
    }

    /// Stores a fresh result together with its signed settlement. False, and nothing is stored, if the settlement
    /// cannot be signed at once: a result does not wait in memory for the chain.
    async fn store_with_settlement(&self, work: &mut Work) -> Result<bool, EngineError> {
        if !work.fresh {
            return Ok(false);
        }
        let Ok(Ok(settlement)) = tokio::time::timeout(SIGNING_PATIENCE, self.sign_settlement(work)).await else {
            return Ok(false);
        };
        self.executions.settling_with_result(work.lease, work.delivered()?, &stored(&settlement)).await?;
        work.settlement = Some(settlement);
        work.state = State::Settling;
        Ok(true)
    }

    pub(super) async fn give_up(&self, work: &mut Work, failure: &Failure) -> Result<(), EngineError> {
        tracing::info!(record = %work.lease.record, message = failure.message, "refunding");
        self.executions.refunding(work.lease, failure).await?;
        work.failure = Some(failure.clone());
        work.state = State::Refunding;
        Ok(())
    }
}

/// What an error means when the creator had less than its promised time, or had answered to a process that died.
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
