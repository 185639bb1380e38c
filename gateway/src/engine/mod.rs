//! Carries one execution from its reservation to settlement or refund (design section 6).
//!
//! Every step is stored before its effect, and every transaction before it is sent. What a step finds is
//! never taken from memory of an earlier attempt: a worker that takes over asks the chain. The caller's
//! session key is needed for the opening alone; everything after it can be resumed by any gateway.

mod dispatch;
mod failure;
mod follow;
mod lease;
mod opening;
mod refund;
mod settlement;
mod transactions;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_marketplace::state::ExecutionRecord;
use chrono::{DateTime, Utc};
use crtx_chain::{ChainError, SignError, SignedTransaction};
use crtx_content::ContentError;
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_store::{
    StoreError,
    executions::{
        Call, Charged, Delivered, Execution, ExecutionsError, Failure, Lease, SettledElsewhere, State, TransactionKind,
    },
};
use tokio::{sync::watch, task::JoinHandle};
use tracing::Instrument;

pub(crate) use failure::{REFUNDED, refunded_elsewhere};
pub(crate) use opening::PreparingOpening;
pub(crate) use transactions::backoff;

use crate::{
    snapshot::{self, Snapshot},
    state::{Gateway, Parts},
};
use lease::Hold;

/// Generous limit of settlements and refunds: unused units cost nothing unless a priority fee is set.
const SETTLE_UNITS: u32 = 60_000;

/// Pause before a worker takes up an execution whose last transaction is still unknown, or that met an error.
const RESUME_AFTER: Duration = Duration::from_secs(2);

/// How an execution left this worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    Completed(Box<Delivered>, Charged),
    /// Completed on chain by somebody else, with a result that this gateway does not have.
    SettledElsewhere(SettledElsewhere),
    /// Refunded, on chain.
    Failed(Failure),
    /// Nothing was charged.
    NotOpened(Failure),
    /// Nothing was opened, and there is no execution: whatever was stored of it is gone.
    NeverWas(ApiError),
    /// The opening was sent and its outcome is not known yet.
    OpeningUnknown,
    /// The result is good; the settlement's outcome is not known yet.
    StillSettling,
    /// The refund's outcome is not known yet.
    RefundPending(Failure),
}

impl Ended {
    const fn name(&self) -> &'static str {
        match self {
            Self::Completed(..) => "completed",
            Self::SettledElsewhere(_) => "settled elsewhere",
            Self::Failed(_) => "refunded",
            Self::NotOpened(_) => "not opened",
            Self::NeverWas(_) => "refused before it was opened",
            Self::OpeningUnknown => "opening unknown",
            Self::StillSettling => "still settling",
            Self::RefundPending(_) => "refund pending",
        }
    }
}

/// What a waiting handler can see.
#[derive(Clone, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Opening,
    Open(Clock),
    Ended(Arc<Ended>, Clock),
}

/// Where the time of a call went, beside the gateway itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    pub chain: Duration,
    pub creator: Duration,
}

impl Clock {
    pub fn add(&mut self, other: Self) {
        self.chain = self.chain.saturating_add(other.chain);
        self.creator = self.creator.saturating_add(other.creator);
    }

    pub async fn chain<T>(&mut self, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let value = work.await;
        self.chain = self.chain.saturating_add(started.elapsed());
        value
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("another worker has taken over")]
    LeaseLost,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error("the chain does not have what it confirmed: {0}")]
    Missing(&'static str),
    #[error("the stored execution lacks {0}")]
    Incomplete(&'static str),
}

impl From<ExecutionsError> for EngineError {
    fn from(error: ExecutionsError) -> Self {
        match error {
            ExecutionsError::LeaseLost => Self::LeaseLost,
            ExecutionsError::Store(error) => Self::Store(error),
        }
    }
}

/// One execution in a worker's hands.
struct Work {
    lease: Lease,
    hold: Hold,
    call: Call,
    state: State,
    delivered: Option<Delivered>,
    failure: Option<Failure>,
    charged: Option<Charged>,
    settled_elsewhere: Option<SettledElsewhere>,
    /// What the chain was last seen to hold; none if nobody looked yet.
    seen: Option<Snapshot>,
    /// Opened by this very worker a moment ago: nobody else can have touched it.
    fresh: bool,
    dispatched_at: Option<DateTime<Utc>>,
    /// Signed and stored, but not sent yet.
    settlement: Option<SignedTransaction>,
    /// The result is being written to the content store; says whether it was.
    content: Option<JoinHandle<bool>>,
    clock: Clock,
}

impl Gateway {
    /// Starts a reserved call, in a task of its own: it goes on when the caller hangs up. Its opening may be in
    /// preparation already.
    pub(crate) fn start(
        &self,
        lease: Lease,
        call: Call,
        caller: Caller,
        opening: Option<PreparingOpening>,
    ) -> watch::Receiver<Stage> {
        let (stage, watched) = watch::channel(Stage::default());
        let gateway = self.clone();
        let span = tracing::info_span!("call", execution = %call.execution_id, agent = %call.agent);
        let task = async move {
            let parts = gateway.parts();
            let mut work = Work::fresh(parts.hold(lease), lease, call);
            let opening = opening.unwrap_or_else(|| gateway.prepare_opening(work.call.clone(), caller.clone()));
            let result = parts.open_and_carry_on(&mut work, &caller, opening, &stage).await;
            if let Some(ended) = parts.conclude(lease, result).await {
                let clock = work.clock;
                tracing::info!(outcome = ended.name(), creator = ?clock.creator, chain = ?clock.chain, "call ended");
                stage.send_replace(Stage::Ended(Arc::new(ended), clock));
            }
        };
        self.parts().tasks.spawn(task.instrument(span));
        watched
    }

    /// Takes up an execution that was left behind.
    pub(crate) async fn resume(&self, lease: Lease) {
        let parts = self.parts();
        let result = async {
            let hold = parts.hold(lease);
            let execution = parts.executions.get(&lease.record).await?;
            let mut work = Work::resumed(hold, lease, execution.ok_or(EngineError::Incomplete("its row"))?);
            tracing::info!(record = %lease.record, state = work.state.as_str(), "resuming");
            parts.carry_on(&mut work).await
        };
        let result = result.await;
        parts.conclude(lease, result).await;
    }
}

impl Work {
    fn fresh(hold: Hold, lease: Lease, call: Call) -> Self {
        Self {
            lease,
            hold,
            call,
            state: State::Reserved,
            delivered: None,
            failure: None,
            charged: None,
            settled_elsewhere: None,
            seen: None,
            fresh: true,
            dispatched_at: None,
            settlement: None,
            content: None,
            clock: Clock::default(),
        }
    }

    fn resumed(hold: Hold, lease: Lease, execution: Execution) -> Self {
        Self {
            lease,
            hold,
            state: execution.state,
            delivered: execution.delivered,
            failure: execution.failure,
            charged: execution.charged,
            settled_elsewhere: None,
            call: execution.call,
            seen: None,
            fresh: false,
            dispatched_at: execution.dispatched_at,
            settlement: None,
            content: None,
            clock: Clock::default(),
        }
    }

    fn record(&self) -> Result<&ExecutionRecord, EngineError> {
        self.seen.as_ref().and_then(|seen| seen.record.as_ref()).ok_or(EngineError::Missing("the record"))
    }

    fn delivered(&self) -> Result<&Delivered, EngineError> {
        self.delivered.as_ref().ok_or(EngineError::Incomplete("its result"))
    }

    fn failure(&self) -> Result<&Failure, EngineError> {
        self.failure.as_ref().ok_or(EngineError::Incomplete("its failure"))
    }

    fn charged(&self) -> Result<Charged, EngineError> {
        self.charged.ok_or(EngineError::Incomplete("what it charges"))
    }

    /// Keeps what the chain shows now.
    fn saw(&mut self, seen: Snapshot) {
        self.charged = seen.record.as_ref().map(snapshot::charged).or(self.charged);
        self.seen = Some(seen);
    }
}

impl Parts {
    fn hold(&self, lease: Lease) -> Hold {
        Hold::new(self.executions.clone(), lease, self.config.limits.lease)
    }

    async fn open_and_carry_on(
        &self,
        work: &mut Work,
        caller: &Caller,
        opening: PreparingOpening,
        stage: &watch::Sender<Stage>,
    ) -> Result<Ended, EngineError> {
        if let Some(ended) = self.open(work, caller, opening).await? {
            return Ok(ended);
        }
        stage.send_replace(Stage::Open(work.clock));
        self.carry_on(work).await
    }

    /// After an error the execution is left for a worker to resume.
    async fn conclude(&self, lease: Lease, result: Result<Ended, EngineError>) -> Option<Ended> {
        match result {
            Ok(ended) => Some(ended),
            Err(EngineError::LeaseLost) => {
                tracing::warn!(record = %lease.record, "the lease is lost");
                None
            }
            Err(error) => {
                tracing::error!(record = %lease.record, %error, "the execution is left for a worker to resume");
                if let Err(error) = self.executions.postpone(lease, RESUME_AFTER).await {
                    tracing::warn!(record = %lease.record, %error, "the lease runs out by itself");
                }
                None
            }
        }
    }

    /// From wherever the execution stands to its end, or to where only waiting helps.
    async fn carry_on(&self, work: &mut Work) -> Result<Ended, EngineError> {
        loop {
            work.hold.check()?;
            let ended = match work.state {
                State::Reserved => {
                    let error = "the call was interrupted before its escrow was opened; nothing was charged";
                    Some(self.not_opened(work.lease, ApiError::new(ErrorCode::Unavailable, error)).await?)
                }
                State::Opening => self.resolve_opening(work).await?,
                State::Pending | State::Running => self.dispatch(work).await?,
                State::ResultStored | State::Settling => self.settle(work).await?,
                State::Refunding => self.refund(work).await?,
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

    /// Looks at the chain. What the record charges is kept.
    async fn look(&self, work: &mut Work) -> Result<(), EngineError> {
        let seen = work.hold.unless_lost(self.see(&work.call)).await??;
        work.saw(seen);
        Ok(())
    }

    /// Leaves the execution to a worker, after `pause`.
    async fn leave(&self, work: &Work, pause: Duration, ended: Ended) -> Result<Option<Ended>, EngineError> {
        self.executions.postpone(work.lease, pause).await?;
        Ok(Some(ended))
    }

    /// How often the chain has refused transactions of that kind for this execution.
    async fn rejections(&self, work: &Work, kind: TransactionKind) -> Result<u32, EngineError> {
        if work.fresh { Ok(0) } else { Ok(self.executions.rejections(&work.lease.record, kind).await?) }
    }
}
