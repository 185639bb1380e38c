//! The creator's side of a call (specification 2.7): sending it, and believing nothing of the answer that has not
//! been checked. What is wrong with an answer is said in words a caller can act on.

mod answer;
mod body;
mod client;
mod patience;

use agent_marketplace::state::FailureReason;
use crtx_http::{ErrorCode, outbound::OutboundError};
use crtx_store::executions::Failure;

pub use self::{
    answer::MAX_RESULT_BYTES,
    client::{Creators, CreatorsError},
};

/// Largest answer: a result of control characters is six times as long in JSON, and steps come on top.
const MAX_ANSWER_BYTES: usize = 7 * 1024 * 1024;

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CreatorError {
    #[error("the agent did not answer within {0} seconds")]
    Timeout(u64),
    #[error("the agent reported failure: {0}")]
    Reported(String),
    #[error("the agent's service could not be called: {0}")]
    NotCallable(#[from] OutboundError),
    #[error("the agent's service could not be reached")]
    Unreachable,
    #[error("the agent's service broke off the connection before it had answered")]
    Dropped,
    #[error("the agent's answer is larger than {MAX_ANSWER_BYTES} bytes")]
    AnswerTooLarge,
    #[error("the agent's answer could not be taken in")]
    NotKept,
    #[error("the agent's answer breaks the contract: {0}")]
    Invalid(String),
}

impl CreatorError {
    /// What the program is told.
    pub const fn reason(&self) -> FailureReason {
        match self {
            Self::Timeout(_) => FailureReason::Timeout,
            Self::Reported(_) => FailureReason::CreatorFailed,
            _ => FailureReason::InvalidResponse,
        }
    }

    /// What the caller is told (specification, section 7).
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Timeout(_) => ErrorCode::ExecutionTimeout,
            _ => ErrorCode::ExecutionFailed,
        };
        Failure {
            reason: Some(self.reason() as u8),
            status: code.status().as_u16(),
            code: code.as_str().to_owned(),
            message: self.to_string(),
        }
    }
}
