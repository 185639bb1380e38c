//! One execution that a worker works on under a lease. Work ends between two steps, never in the middle of a query: a
//! step that finds the lease lost changes nothing, and only waits for the chain or the creator are cancelled.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use crtx_chain::{Execution, SignedTransaction};
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::{Call, Charged, Delivered, ExecutionsError, Failure, Lease, SettledElsewhere, State};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Engine,
    ended::EngineError,
    view::{self, ChainView},
};

pub(super) struct Work {
    pub lease: Lease,
    pub hold: LeaseGuard,
    pub call: Call,
    pub state: State,
    /// This worker opened the escrow a moment ago, and no other transaction of the call exists.
    pub fresh: bool,
    /// The last read of the chain; `None` before the first read.
    pub view: Option<ChainView>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub delivered: Option<Delivered>,
    /// The settlement that was stored together with the result, and is not sent yet.
    pub settlement: Option<SignedTransaction>,
    /// `settlement` settles other executions as well, and is sent once for all of them: its outcome.
    pub shared_outcome: Option<oneshot::Receiver<Outcome>>,
    pub failure: Option<Failure>,
    pub charged: Option<Charged>,
    pub settled_elsewhere: Option<SettledElsewhere>,
    /// The task that writes the result to the content store. It returns whether it succeeded.
    pub content: Option<JoinHandle<bool>>,
    pub spent: TimeSpent,
}

impl Work {
    pub fn new(hold: LeaseGuard, lease: Lease, call: Call, state: State) -> Self {
        Self {
            lease,
            hold,
            call,
            state,
            fresh: false,
            view: None,
            dispatched_at: None,
            delivered: None,
            settlement: None,
            shared_outcome: None,
            failure: None,
            charged: None,
            settled_elsewhere: None,
            content: None,
            spent: TimeSpent::default(),
        }
    }

    pub fn delivered(&self) -> Result<&Delivered, EngineError> {
        self.delivered.as_ref().ok_or(EngineError::Incomplete("its result"))
    }

    pub fn failure(&self) -> Result<&Failure, EngineError> {
        self.failure.as_ref().ok_or(EngineError::Incomplete("its failure"))
    }

    pub fn charged(&self) -> Result<Charged, EngineError> {
        self.charged.ok_or(EngineError::Incomplete("what it charges"))
    }

    pub fn view(&self) -> Result<&ChainView, EngineError> {
        self.view.as_ref().ok_or(EngineError::Missing("the record"))
    }

    pub fn record(&self) -> Result<&Execution, EngineError> {
        self.view()?.record()
    }

    /// Keeps a read of the chain, and the amounts that the record charges.
    pub fn saw(&mut self, view: ChainView) {
        self.charged = view.record.as_ref().and_then(|record| view::charged(record)).or(self.charged);
        self.view = Some(view);
    }
}

/// The time that a call waits for the creator and for the chain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeSpent {
    pub chain: Duration,
    pub creator: Duration,
}

impl TimeSpent {
    pub fn add(&mut self, other: Self) {
        self.chain = self.chain.saturating_add(other.chain);
        self.creator = self.creator.saturating_add(other.creator);
    }

    /// Adds the time of `work` to the time of the chain.
    pub async fn on_chain<T>(&mut self, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let value = work.await;
        self.chain = self.chain.saturating_add(started.elapsed());
        value
    }
}

/// A lease that is renewed until this value is dropped.
pub(super) struct LeaseGuard {
    lost: CancellationToken,
    _release: DropGuard,
}

impl LeaseGuard {
    /// Returns an error if the lease is known to be lost.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.lost.is_cancelled() { Err(ExecutionsError::LeaseLost.into()) } else { Ok(()) }
    }

    /// Waits for `others` until the lease is lost. They must not do database work: a query could be cancelled.
    pub async fn unless_lost<T>(&self, others: impl Future<Output = T>) -> Result<T, EngineError> {
        tokio::select! {
            biased;
            value = others => Ok(value),
            () = self.lost.cancelled() => Err(ExecutionsError::LeaseLost.into()),
        }
    }
}

impl Engine {
    /// Starts to renew `lease`, three times per lease length.
    pub(super) fn hold(&self, lease: Lease) -> LeaseGuard {
        let (lost, released) = (CancellationToken::new(), CancellationToken::new());
        let every = self.config.limits.lease.div_f32(3.0);
        let hold = LeaseGuard { lost: lost.clone(), _release: released.clone().drop_guard() };
        let executions = self.executions.clone();
        tokio::spawn(async move {
            while released.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
                match executions.renew(lease).await {
                    Ok(true) => {}
                    Ok(false) => return lost.cancel(),
                    // The lease may still be valid. Every step checks it, so a step that comes too late changes nothing.
                    Err(error) => tracing::warn!(record = %lease.record, %error, "the lease could not be renewed"),
                }
            }
        });
        hold
    }
}
