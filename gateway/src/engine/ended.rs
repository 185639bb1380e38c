//! How the work on an execution ends, and what a waiting handler sees.

use std::sync::Arc;

use agent_marketplace::state::FailureReason;
use crtx_chain::{ChainError, SignError};
use crtx_content::ContentError;
use crtx_http::{ApiError, ErrorCode};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    StoreError,
    executions::{Charged, Delivered, ExecutionsError, Failure, SettledElsewhere, State, StoredExecution},
};

use super::work::TimeSpent;

/// How this worker's part in an execution ended. The log has the names.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Ended {
    Completed(Box<Delivered>, Charged),
    /// The creator or the caller settled it on chain, with a result that this gateway does not have.
    SettledElsewhere(SettledElsewhere),
    /// Refunded on chain.
    Failed(Failure),
    /// Nothing was charged.
    NotOpened(Failure),
    /// No escrow was opened. The stored row is deleted and no execution exists.
    NeverOpened(ApiError),
    /// The opening was sent; its outcome is not known yet.
    OpeningUnknown,
    /// The result is valid; the outcome of its settlement is not known yet.
    StillSettling,
    /// The outcome of the refund is not known yet.
    RefundPending(Failure),
}

/// `None`: the state has changed, and the next step must be chosen.
pub(super) type Step = Result<Option<Ended>, EngineError>;

impl Ended {
    /// How a stored execution ended. `None`: it is not finished.
    pub fn of(execution: &StoredExecution) -> Option<Self> {
        let (nothing, amount) = (UsdcBase(0), execution.call.amount);
        let reserved = Charged { amount, creator_amount: nothing, platform_amount: nothing };
        let charged = execution.charged.unwrap_or(reserved);
        match (execution.state, &execution.delivered, &execution.failure) {
            (State::Completed, Some(delivered), _) => Some(Self::Completed(Box::new(delivered.clone()), charged)),
            (State::Completed, None, _) => {
                let (result_hash, reported) = (execution.result_hash?, execution.reported?);
                Some(Self::SettledElsewhere(SettledElsewhere { charged, result_hash, reported }))
            }
            (State::Failed, _, Some(failure)) if execution.opened_at.is_some() => Some(Self::Failed(failure.clone())),
            (State::Failed, _, Some(failure)) => Some(Self::NotOpened(failure.clone())),
            _ => None,
        }
    }

    /// The code of the error; empty if there is none.
    pub fn code(&self) -> &str {
        match self {
            Self::Failed(failure) | Self::NotOpened(failure) | Self::RefundPending(failure) => &failure.code,
            Self::NeverOpened(error) => error.code.as_str(),
            _ => "",
        }
    }

    /// Whether there was an escrow.
    pub const fn was_opened(&self) -> bool {
        !matches!(self, Self::NotOpened(_) | Self::NeverOpened(_) | Self::OpeningUnknown)
    }

    /// Whether the call counts as refused: it failed, or it was never opened for a reason of its own.
    pub const fn came_to_nothing(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::NeverOpened(_))
    }
}

/// What a waiting handler sees.
#[derive(Clone, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Opening,
    Open(TimeSpent),
    Ended(Arc<Ended>, TimeSpent),
}

/// Why a worker stops before an execution ends. The execution is resumed later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error(transparent)]
    Step(#[from] ExecutionsError),
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

/// A failure as it is stored. The answer to the caller adds the state of the escrow. `reason`: what the program gets.
pub(crate) fn failure(code: ErrorCode, reason: Option<FailureReason>, message: impl Into<String>) -> Failure {
    Failure {
        reason: reason.map(|reason| reason as u8),
        signature: None,
        status: code.status().as_u16(),
        code: code.as_str().to_owned(),
        message: message.into(),
    }
}

/// This service was interrupted before it asked the agent or while the agent worked: no failure of the agent.
pub(crate) fn interrupted() -> Failure {
    let problem =
        "the service was interrupted while the agent worked, and the time that is left is too short to ask again";
    failure(ErrorCode::Interrupted, Some(FailureReason::Interrupted), problem)
}

/// The creator may refund at any time, and anyone may after the deadline, without this gateway.
pub(crate) fn refunded_elsewhere() -> Failure {
    let problem = "the execution was ended on chain without this gateway";
    failure(ErrorCode::ExecutionFailed, Some(FailureReason::Expired), problem)
}
