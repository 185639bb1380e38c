//! Calls the creator's service and stores the answer.

use std::time::{Duration, Instant};

use chrono::Utc;
use crtx_store::executions::{Delivered, Failure, State};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::{
    Engine,
    ended::{EngineError, Step, interrupted},
    together::Joined,
    transactions::stored,
    view::ChainView,
    work::Work,
};
use crate::creator::CreatorError;

/// Time reserved for settlement when a call is not sent to the creator right after its opening.
pub(crate) const SETTLE_MARGIN_S: i64 = 15;
/// With less time than this, the creator is not called again.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);
/// How long a result that is not stored yet waits for a recent blockhash, which is usually cached.
pub(super) const SIGNING_PATIENCE: Duration = Duration::from_millis(50);

impl Engine {
    /// Sends the call to the creator, if there is time, and stores its result or why it has none.
    pub(super) async fn dispatch(&self, work: &mut Work) -> Step {
        let promised = Duration::from_secs(u64::from(work.call.timeout_seconds));
        let mut patience = promised;
        // The opening of a fresh call was stored together with the dispatch.
        if !work.fresh {
            self.refresh_view(work).await?;
            if self.follow_record(work).await? {
                return Ok(None);
            }
            patience = promised.min(time_left(work.view()?)?);
            if patience < SHORTEST_PATIENCE {
                return self.give_up(work, interrupted()).await.map(|()| None);
            }
            self.executions.dispatching(work.lease).await?;
        }
        work.dispatched_at.get_or_insert_with(Utc::now);
        work.state = State::Running;
        match self.ask_and_check(work, patience).await? {
            Ok(delivered) => self.keep_result(work, delivered).await?,
            // After an interruption less than the promised time is left: then only an answer is the creator's failure.
            Err(error) if patience < promised && !error.is_answer() => self.give_up(work, interrupted()).await?,
            Err(error) => self.give_up(work, error.failure()).await?,
        }
        Ok(None)
    }

    /// Calls the creator. The record says who has to sign the answer, for what.
    async fn ask_and_check(
        &self,
        work: &mut Work,
        patience: Duration,
    ) -> Result<Result<Delivered, CreatorError>, EngineError> {
        let started = Instant::now();
        let opened_at_unix_s = work.record()?.opened_at_unix_s;
        let span = tracing::info_span!("creator");
        let (answer, noted) = tokio::join!(
            work.hold.unless_lost(self.creators.ask(&work.call, opened_at_unix_s, patience)).instrument(span),
            self.note_charged(work),
        );
        let answer = answer?;
        noted?;
        work.spent.creator = work.spent.creator.saturating_add(match &answer {
            Ok(answer) => answer.elapsed,
            Err(_) => started.elapsed(),
        });
        let signatory = work.view()?.signatory(&work.call.record)?;
        Ok(answer.and_then(|answer| answer.check(work.call.execution_id, &signatory)))
    }

    /// If the price fell before the opening, the charged amount is stored immediately, so that a running call shows its
    /// real cost.
    async fn note_charged(&self, work: &Work) -> Result<(), EngineError> {
        if let Some(charged) = work.charged.filter(|charged| charged.amount != work.call.amount) {
            self.executions.charged(work.lease, &charged).await?;
        }
        Ok(())
    }

    /// Stores the result before anything is settled. Its signed settlement is stored with it if signing is fast enough: a
    /// result does not wait in memory for the chain.
    async fn keep_result(&self, work: &mut Work, mut delivered: Delivered) -> Result<(), EngineError> {
        if !work.fresh {
            let since_first = Utc::now().signed_duration_since(work.dispatched_at.unwrap_or_else(Utc::now));
            let since_first = u64::try_from(since_first.num_milliseconds()).unwrap_or(0);
            delivered.execution_time_ms = since_first.max(delivered.execution_time_ms);
        }
        let result = delivered.result.clone();
        work.delivered = Some(delivered);
        match self.settle_with_others(work).await? {
            Joined::Alone => self.store_and_sign(work).await?,
            Joined::Stored => work.state = State::ResultStored,
            Joined::Together((settlement, outcome)) => {
                (work.settlement, work.shared_outcome) = (Some(settlement), Some(outcome));
                work.state = State::Settling;
            }
        }
        // The content is written after the row: both use the same disk, and the caller waits for the row.
        work.content = Some(self.write_content(result));
        Ok(())
    }

    async fn store_and_sign(&self, work: &mut Work) -> Result<(), EngineError> {
        let signed = tokio::time::timeout(SIGNING_PATIENCE, self.sign_settlement(work)).await;
        work.settlement = signed.ok().and_then(Result::ok);
        let settlement = work.settlement.as_ref().map(stored);
        self.executions.result_stored(work.lease, work.delivered()?, settlement.as_ref()).await?;
        work.state = if settlement.is_some() { State::Settling } else { State::ResultStored };
        Ok(())
    }

    /// Writes a stored result to the content store while the settlement is in progress. If that fails, the row serves the
    /// result until a worker has written it.
    pub(super) fn write_content(&self, result: String) -> JoinHandle<bool> {
        let content = self.content.clone();
        tokio::spawn(async move { content.try_put(result).await })
    }

    /// Stores the reason and starts the refund of the escrow.
    pub(super) async fn give_up(&self, work: &mut Work, failure: Failure) -> Result<(), EngineError> {
        // Without the message: it can quote an agent, and that the task.
        tracing::info!(record = %work.lease.record, code = failure.code, "refunding");
        self.executions.refunding(work.lease, &failure).await?;
        (work.state, work.failure) = (State::Refunding, Some(failure));
        Ok(())
    }

    /// Reads the chain and keeps the amounts that the record charges.
    pub(super) async fn refresh_view(&self, work: &mut Work) -> Result<(), EngineError> {
        let view = work.hold.unless_lost(self.view_of_open(&work.call)).await??;
        work.saw(view);
        Ok(())
    }
}

/// The time left for an interrupted call. It can be the creator's full time: the deadline is later than the time-out.
fn time_left(view: &ChainView) -> Result<Duration, EngineError> {
    let left = view.terms()?.deadline_unix_s.saturating_sub(view.now_unix_s).saturating_sub(SETTLE_MARGIN_S);
    Ok(Duration::from_secs(u64::try_from(left).unwrap_or(0)))
}
