//! A call that one worker opens, dispatches and settles or refunds without a pause. After an unexpected outcome,
//! [`resumed`](super::resumed) takes over.

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use crtx_chain::SignedTransaction;
use crtx_http::Caller;
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::{Call, Delivered, Failure, Lease, State};
use tokio::sync::watch;
use tracing::Instrument;

use super::{
    Engine,
    ended::{Ended, Stage},
    error::EngineError,
    handover::RESUME_AFTER,
    opening::{Opened, PreparingOpening, ToOpen},
    refund, settlement,
    time_spent::TimeSpent,
    transactions::{landing, stored},
    work::{FreshCall, Work},
};

/// How long a result that is not stored yet waits for a recent blockhash, which is usually cached.
const SIGNING_PATIENCE: Duration = Duration::from_millis(50);

/// What was stored of a result and its settlement.
enum Stored {
    Together(SignedTransaction),
    /// The settlement could not be signed in time.
    ResultAlone,
}

impl Engine {
    /// Starts a reserved call in a task of its own, so that it continues if the caller disconnects.
    pub fn start(
        self: &Arc<Self>,
        lease: Lease,
        call: Call,
        caller: Caller,
        opening: ToOpen,
    ) -> watch::Receiver<Stage> {
        let (stage, watched) = watch::channel(Stage::default());
        let engine = Arc::clone(self);
        let span = tracing::info_span!("call", execution = %call.execution_id, agent = %call.agent);
        let task = async move {
            let mut work = Work::reserved(engine.hold(lease), lease, call);
            let opening = match opening {
                ToOpen::Prepared(opening) => opening,
                ToOpen::OnTerms(hash) => engine.prepare_opening(work.call.clone(), caller.clone(), hash),
            };
            let result = engine.open_and_carry_on(&mut work, &caller, opening, &stage).await;
            engine.report(lease, work.spent, result, &stage).await;
        };
        self.tasks.spawn(task.instrument(span));
        watched
    }

    /// Shows the waiting handler how the call ended.
    pub(super) async fn report(
        &self,
        lease: Lease,
        spent: TimeSpent,
        result: Result<Ended, EngineError>,
        stage: &watch::Sender<Stage>,
    ) {
        if let Some(ended) = self.conclude(lease, result).await {
            tracing::info!(outcome = ended.name(), creator = ?spent.creator, chain = ?spent.chain, "call ended");
            stage.send_replace(Stage::Ended(Arc::new(ended), spent));
        }
    }

    async fn open_and_carry_on(
        &self,
        work: &mut Work,
        caller: &Caller,
        opening: PreparingOpening,
        stage: &watch::Sender<Stage>,
    ) -> Result<Ended, EngineError> {
        match self.open(work, caller, opening).await? {
            Opened::Now => {
                stage.send_replace(Stage::Open(work.spent));
                self.ask(work).await
            }
            Opened::Before => {
                stage.send_replace(Stage::Open(work.spent));
                self.carry_on(work.resume(State::Pending, None)).await
            }
            Opened::No(ended) => Ok(ended),
        }
    }

    /// Sends the call to the creator. The opening was stored together with the dispatch.
    async fn ask(&self, work: &mut Work) -> Result<Ended, EngineError> {
        work.hold.check()?;
        let dispatched_at = Utc::now();
        let patience = Duration::from_secs(u64::from(work.call.timeout_seconds));
        let (checked, view) = self.ask_and_check(work, patience, None).await?;
        let call = FreshCall { work, view, dispatched_at };
        match checked {
            Ok(delivered) => self.settle_at_once(call, delivered).await,
            Err(error) => self.refund_at_once(call, &error.failure()).await,
        }
    }

    async fn settle_at_once(&self, mut call: FreshCall<'_>, delivered: Delivered) -> Result<Ended, EngineError> {
        let result = delivered.result.clone();
        call.work.delivered = Some(delivered);
        let stored = self.store_result(&mut call).await?;
        // The content is written after the row: both use the same disk, and the caller waits for the row.
        call.work.content = Some(self.write_content(result));
        let settlement = match stored {
            Stored::Together(settlement) => settlement,
            Stored::ResultAlone => return self.carry_on(call.resume(State::ResultStored)).await,
        };
        call.work.hold.check()?;
        match self.send_unnoted(call.work, &settlement, self.config.limits.settle_patience).await? {
            Outcome::Confirmed { slot } => {
                self.settled(call.work, Some(&landing(&settlement, slot))).await?;
                Ok(Ended::Completed(Box::new(call.work.delivered()?.clone()), call.work.charged()?))
            }
            Outcome::Unknown => self.leave(call.work, RESUME_AFTER, Ended::StillSettling).await,
            Outcome::Expired => self.carry_on(call.resume(State::Settling)).await,
            Outcome::Rejected { .. } => {
                call.work.hold.unless_lost(tokio::time::sleep(settlement::pause_after(0))).await?;
                self.carry_on(call.resume(State::Settling)).await
            }
        }
    }

    /// Stores the result. Its signed settlement is stored with it if signing is fast enough: a result does not wait
    /// in memory for the chain.
    async fn store_result(&self, call: &mut FreshCall<'_>) -> Result<Stored, EngineError> {
        let signing = self.sign_settlement(call.work, &call.view);
        let signed = tokio::time::timeout(SIGNING_PATIENCE, signing).await;
        let (work, delivered) = (&*call.work, call.work.delivered()?);
        if let Ok(Ok(settlement)) = signed {
            self.executions.settling_with_result(work.lease, delivered, &stored(&settlement)).await?;
            return Ok(Stored::Together(settlement));
        }
        self.executions.result_stored(work.lease, delivered).await?;
        Ok(Stored::ResultAlone)
    }

    async fn refund_at_once(&self, call: FreshCall<'_>, failure: &Failure) -> Result<Ended, EngineError> {
        self.give_up(call.work, failure).await?;
        if !call.view.is_open() {
            return self.carry_on(call.resume(State::Refunding)).await;
        }
        call.work.hold.check()?;
        let transaction = self.sign_refund(call.work, &call.view, 0).await?;
        self.executions.refund_signed(call.work.lease, &stored(&transaction)).await?;
        match self.send(call.work, &transaction, self.config.limits.refund_patience).await? {
            Outcome::Confirmed { .. } => {
                self.refunded(call.work).await?;
                Ok(Ended::Failed(call.work.failure()?.clone()))
            }
            Outcome::Expired => self.carry_on(call.resume(State::Refunding)).await,
            Outcome::Rejected { .. } => self.leave_refund(call.work, refund::pause_after(0)).await,
            Outcome::Unknown => self.leave_refund(call.work, RESUME_AFTER).await,
        }
    }
}
