//! One execution that a worker works on.
//!
//! A [`FreshCall`] is a call whose escrow this worker opened a moment ago. No other process has sent a transaction of
//! it, so no step needs to resolve earlier transactions. A [`ResumedCall`] starts from the state in the database: the
//! chain is read before every step, and earlier transactions are resolved before another one is signed. A fresh call
//! becomes a resumed call after any unexpected outcome.

use chrono::{DateTime, Utc};
use crtx_store::executions::{Call, Charged, Delivered, Execution, Failure, Lease, SettledElsewhere, State};
use tokio::task::JoinHandle;

use super::{
    error::EngineError,
    lease::Hold,
    time_spent::TimeSpent,
    view::{self, ChainView},
};

/// The fields that both kinds share.
pub(super) struct Work {
    pub lease: Lease,
    pub hold: Hold,
    pub call: Call,
    pub delivered: Option<Delivered>,
    pub failure: Option<Failure>,
    pub charged: Option<Charged>,
    /// The task that writes the result to the content store. It returns whether it succeeded.
    pub content: Option<JoinHandle<bool>>,
    pub spent: TimeSpent,
}

/// A call whose escrow this worker opened a moment ago.
pub(super) struct FreshCall<'a> {
    pub work: &'a mut Work,
    /// The chain after the opening.
    pub view: ChainView,
    pub dispatched_at: DateTime<Utc>,
}

/// An execution that is resumed in its stored state.
pub(super) struct ResumedCall<'a> {
    pub work: &'a mut Work,
    pub state: State,
    /// The last read of the chain; `None` before the first read.
    pub view: Option<ChainView>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub settled_elsewhere: Option<SettledElsewhere>,
}

impl Work {
    /// Creates the work of a call that was reserved for this worker.
    pub fn reserved(hold: Hold, lease: Lease, call: Call) -> Self {
        Self {
            lease,
            hold,
            call,
            delivered: None,
            failure: None,
            charged: None,
            content: None,
            spent: TimeSpent::default(),
        }
    }

    /// Creates the work of a stored execution, with its state and the time of its first dispatch.
    pub fn stored(hold: Hold, lease: Lease, execution: Execution) -> (Self, State, Option<DateTime<Utc>>) {
        let work = Self {
            delivered: execution.delivered,
            failure: execution.failure,
            charged: execution.charged,
            ..Self::reserved(hold, lease, execution.call)
        };
        (work, execution.state, execution.dispatched_at)
    }

    /// Continues from `state`; every step reads the chain first.
    pub fn resume(&mut self, state: State, dispatched_at: Option<DateTime<Utc>>) -> ResumedCall<'_> {
        ResumedCall { work: self, state, view: None, dispatched_at, settled_elsewhere: None }
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

    /// Keeps the amounts that the record charges.
    pub fn saw(&mut self, view: &ChainView) {
        self.charged = view.record.as_ref().and_then(|record| view::charged(record)).or(self.charged);
    }
}

impl<'a> FreshCall<'a> {
    /// Continues as a resumed call: every step reads the chain first.
    pub fn resume(self, state: State) -> ResumedCall<'a> {
        self.work.resume(state, Some(self.dispatched_at))
    }
}

impl ResumedCall<'_> {
    pub fn saw(&mut self, view: ChainView) {
        self.work.saw(&view);
        self.view = Some(view);
    }

    pub fn view(&self) -> Result<&ChainView, EngineError> {
        self.view.as_ref().ok_or(EngineError::Missing("the record"))
    }

    pub fn record(&self) -> Result<&crtx_chain::Execution, EngineError> {
        self.view()?.record()
    }
}
