//! Carries one execution from its reservation to settlement or refund (design section 6).
//!
//! Every step is stored before its effect, and every transaction before it is sent. What a step finds is
//! never taken from memory of an earlier attempt: a worker that takes over asks the chain. The caller's
//! session key is needed for the opening alone; everything after it can be resumed by any gateway.

mod dispatch;
mod opening;
mod refund;
mod settlement;
mod transactions;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_marketplace::state::{ExecutionRecord, FailureReason};
use chrono::{DateTime, Utc};
use crtx_chain::{ChainError, SignError};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_store::{
    StoreError,
    executions::{Call, Delivered, Execution, ExecutionsError, Failure, Lease, State},
};
use tokio::sync::watch;
use tracing::Instrument;

use crate::{
    content::ContentError,
    snapshot::Snapshot,
    state::{Gateway, Parts},
};

/// Ample: what is asked for and not used costs nothing without a price, and a settlement must never fail for the
/// want of it.
const SETTLE_UNITS: u32 = 60_000;

/// Settlements or refunds that the chain refuses before the gateway thinks again.
const MAX_REJECTIONS: u32 = 3;
/// Pause before a worker takes up an execution whose last transaction is still unknown, or that met an error.
const RESUME_AFTER: Duration = Duration::from_secs(2);
/// How every failure's message ends once the escrow is back with the caller.
pub(crate) const REFUNDED: &str = "the escrow was refunded";

/// How an execution left this worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    Completed(Box<Delivered>),
    /// Refunded, on chain.
    Failed(Failure),
    /// Nothing was charged.
    NotOpened(Failure),
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
            Self::Completed(_) => "completed",
            Self::Failed(_) => "refunded",
            Self::NotOpened(_) => "not opened",
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
    call: Call,
    state: State,
    delivered: Option<Delivered>,
    failure: Option<Failure>,
    dispatched_at: Option<DateTime<Utc>>,
    /// What the chain was last seen to hold; none if nobody looked yet.
    seen: Option<Snapshot>,
    /// Opened by this very worker a moment ago: nobody else can have touched it.
    fresh: bool,
    clock: Clock,
}

impl Gateway {
    /// Starts a reserved call, in a task of its own: it goes on when the caller hangs up.
    pub(crate) fn start(&self, lease: Lease, call: Call, caller: Caller) -> watch::Receiver<Stage> {
        let (stage, watched) = watch::channel(Stage::default());
        let gateway = self.clone();
        let span = tracing::info_span!("call", execution = %call.execution_id, agent = %call.agent);
        let task = async move {
            let parts = gateway.parts();
            let mut clock = Clock::default();
            let work = async {
                if let Some(ended) = parts.open(lease, &call, &caller, &mut clock).await? {
                    return Ok((ended, clock));
                }
                stage.send_replace(Stage::Open(clock));
                let mut work = Work::fresh(lease, call, clock);
                let ended = parts.carry_on(&mut work).await?;
                Ok((ended, work.clock))
            };
            if let Some((ended, clock)) = parts.under_lease(lease, work).await {
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
        let work = async {
            let execution = parts.executions.get(&lease.record).await?;
            let mut work = Work::resumed(lease, execution.ok_or(EngineError::Incomplete("its row"))?);
            tracing::info!(record = %lease.record, state = work.state.as_str(), "resuming");
            parts.carry_on(&mut work).await
        };
        parts.under_lease(lease, work).await;
    }
}

impl Work {
    fn fresh(lease: Lease, call: Call, clock: Clock) -> Self {
        Self {
            lease,
            call,
            state: State::Pending,
            delivered: None,
            failure: None,
            dispatched_at: None,
            seen: None,
            fresh: true,
            clock,
        }
    }

    fn resumed(lease: Lease, execution: Execution) -> Self {
        Self {
            lease,
            state: execution.state,
            delivered: execution.delivered,
            failure: execution.failure,
            dispatched_at: execution.dispatched_at,
            call: execution.call,
            seen: None,
            fresh: false,
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
}

impl Parts {
    /// Works while the lease holds. After an error the execution is left for a worker to resume.
    async fn under_lease<T>(&self, lease: Lease, work: impl Future<Output = Result<T, EngineError>>) -> Option<T> {
        let result = tokio::select! {
            result = work => result,
            () = self.keep(lease) => Err(EngineError::LeaseLost),
        };
        match result {
            Ok(value) => Some(value),
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

    /// Renews the lease until it is lost.
    async fn keep(&self, lease: Lease) {
        loop {
            tokio::time::sleep(self.config.limits.lease.div_f32(3.0)).await;
            match self.executions.renew(lease).await {
                Ok(true) => {}
                Ok(false) => return,
                // The lease may hold still; whoever works under it meets the same database.
                Err(error) => tracing::warn!(record = %lease.record, %error, "the lease could not be renewed"),
            }
        }
    }

    /// From wherever the execution stands to its end, or to where only waiting helps.
    async fn carry_on(&self, work: &mut Work) -> Result<Ended, EngineError> {
        loop {
            let ended = match work.state {
                State::Reserved => {
                    let error = "the call was interrupted before its escrow was opened; nothing was charged";
                    Some(self.not_opened(work.lease, ApiError::new(ErrorCode::Unavailable, error)).await?)
                }
                State::Opening => self.resolve_opening(work).await?,
                State::Pending | State::Running => self.dispatch(work).await.map(|()| None)?,
                State::ResultStored | State::Settling => self.settle(work).await?,
                State::Refunding => self.refund(work).await?,
                State::Completed => Some(Ended::Completed(Box::new(work.delivered()?.clone()))),
                State::Failed => Some(Ended::Failed(work.failure()?.clone())),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// Leaves the execution to a worker, a little later.
    async fn leave(&self, work: &Work, ended: Ended) -> Result<Option<Ended>, EngineError> {
        self.executions.postpone(work.lease, RESUME_AFTER).await?;
        Ok(Some(ended))
    }
}

fn failed(problem: &str) -> Failure {
    let code = ErrorCode::ExecutionFailed;
    Failure {
        reason: Some(FailureReason::InvalidResponse as u8),
        status: code.status().as_u16(),
        code: code.as_str().to_owned(),
        message: format!("{problem}; {REFUNDED}"),
    }
}

/// The creator may settle, and anybody may refund after the deadline, without this gateway.
fn settled_elsewhere() -> Failure {
    Failure {
        message: "the execution was settled or refunded on chain without this gateway; its record says which"
            .to_owned(),
        ..failed("")
    }
}

/// The money has moved and the row says so: what could not be seen of it yet changes nothing.
fn note_unseen(seen: Result<Snapshot, EngineError>) {
    if let Err(error) = seen {
        tracing::warn!(%error, "the finished record was not seen");
    }
}
