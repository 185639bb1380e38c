//! The call to the creator's service, and what is kept of its answer.

use std::time::{Duration, Instant};

use agent_marketplace::state::ExecutionStatus;
use chrono::{DateTime, Utc};
use crtx_store::executions::{Delivered, Failure, State};

use super::{EngineError, Work, settled_elsewhere};
use crate::{creator::CreatorError, state::Parts, terms::now_unix_s};

/// Time kept back for settlement when a call is sent to the creator a second time.
const SETTLE_MARGIN_S: i64 = 15;

impl Parts {
    /// Sends the call to the creator and checks what comes back.
    pub(super) async fn dispatch(&self, work: &mut Work) -> Result<(), EngineError> {
        let mut patience = Duration::from_secs(u64::from(work.call.timeout_seconds));
        if !work.fresh {
            work.seen = Some(self.see(&work.call).await?);
            let record = work.record()?;
            if record.status() != Some(ExecutionStatus::Open) {
                return self.give_up(work, &settled_elsewhere()).await;
            }
            let left = record.deadline_unix_s.saturating_sub(now_unix_s()).saturating_sub(SETTLE_MARGIN_S);
            patience = patience.min(Duration::from_secs(u64::try_from(left).unwrap_or(0)));
            // The creator's time began when the call was first sent; an interruption does not prolong it.
            if let Some(sent_at) = work.dispatched_at {
                let gone = Utc::now().signed_duration_since(sent_at).to_std().unwrap_or_default();
                patience = patience.saturating_sub(gone);
            }
            if patience.is_zero() {
                let timeout = CreatorError::Timeout(u64::from(work.call.timeout_seconds));
                return self.give_up(work, &timeout.failure()).await;
            }
        }
        self.executions.dispatching(work.lease).await?;
        let sent_at = *work.dispatched_at.get_or_insert_with(Utc::now);
        work.state = State::Running;
        let checked = self.ask_and_check(work, patience).await?;
        let seen = work.seen.clone();
        let mirrored = async {
            if let Some(seen) = &seen {
                self.mirror(seen).await;
            }
        };
        let kept = async {
            match checked {
                Ok(delivered) => self.keep_result(work, delivered, sent_at).await,
                Err(error) => self.give_up(work, &error.failure()).await,
            }
        };
        tokio::join!(kept, mirrored).0
    }

    /// The record is read while the creator works: its result key decides who may have signed.
    async fn ask_and_check(
        &self,
        work: &mut Work,
        patience: Duration,
    ) -> Result<Result<Delivered, CreatorError>, EngineError> {
        let started = Instant::now();
        let call = &work.call;
        let (answer, seen) = tokio::join!(self.creators.ask(call, patience), async {
            match &work.seen {
                Some(seen) => Ok(seen.clone()),
                None => self.see(call).await,
            }
        });
        work.clock.creator = work.clock.creator.saturating_add(match &answer {
            Ok(answer) => answer.elapsed,
            Err(_) => started.elapsed(),
        });
        work.seen = Some(seen?);
        let result_key = work.record()?.result_key;
        Ok(answer.and_then(|answer| answer.check(work.call.execution_id, &result_key)))
    }

    /// Content and row are stored before anything is settled. Whoever resumes from the row stores the
    /// content again, so neither has to wait for the other.
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
        let content = self.content.put(delivered.result.clone());
        let (stored, row) = tokio::join!(content, self.executions.result_stored(work.lease, &delivered));
        row?;
        stored?;
        work.delivered = Some(delivered);
        work.state = State::ResultStored;
        Ok(())
    }

    pub(super) async fn give_up(&self, work: &mut Work, failure: &Failure) -> Result<(), EngineError> {
        tracing::info!(record = %work.lease.record, message = failure.message, "refunding");
        self.executions.refunding(work.lease, failure).await?;
        work.failure = Some(failure.clone());
        work.state = State::Refunding;
        Ok(())
    }
}
