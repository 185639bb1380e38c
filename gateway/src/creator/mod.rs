//! Calls a creator's service and verifies its answer (`docs/specification.md`, "Creator service protocol").

mod body;
mod client;
mod patience;

use agent_marketplace::state::FailureReason;
use crtx_http::{ErrorCode, outbound::OutboundError};
use crtx_protocol::creator_answer::{AnswerError, MAX_ANSWER_BYTES};
use crtx_store::executions::Failure;

use crate::engine::failure;

pub use self::client::Creators;

/// What a creator may report is what the program stores.
const _: () = assert!(crtx_protocol::creator_answer::MAX_TOKENS_USED == agent_marketplace::state::MAX_TOKENS_USED);

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CreatorError {
    #[error("the agent did not answer within {0} seconds")]
    Timeout(u64),
    /// `signature`: of the agent over this failure, if it gave one that verifies.
    #[error("the agent reported failure: {error}")]
    Reported { error: String, signature: Option<[u8; 64]> },
    #[error("the agent's service could not be called: {0}")]
    NotCallable(#[from] OutboundError),
    #[error("the agent's service could not be reached")]
    Unreachable,
    #[error("the agent's service closed the connection before it answered")]
    Dropped,
    #[error("the agent's answer is larger than {MAX_ANSWER_BYTES} bytes")]
    AnswerTooLarge,
    #[error("the agent's answer could not be processed")]
    NotKept,
    #[error("the agent's answer breaks the contract: {0}")]
    Invalid(String),
}

impl From<AnswerError> for CreatorError {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Reported { error, signature } => Self::Reported { error, signature },
            AnswerError::Invalid(problem) => Self::Invalid(problem),
        }
    }
}

impl CreatorError {
    /// Whether the agent's service answered.
    pub const fn is_answer(&self) -> bool {
        matches!(self, Self::Reported { .. } | Self::Invalid(_) | Self::AnswerTooLarge)
    }

    /// The reason that the program gets. Only what the agent did counts as its failure: a call that was not sent, and
    /// an answer that this service could not keep, are not.
    pub const fn reason(&self) -> FailureReason {
        match self {
            Self::Timeout(_) => FailureReason::Timeout,
            Self::Reported { .. } => FailureReason::CreatorFailed,
            Self::NotCallable(_) | Self::NotKept => FailureReason::Interrupted,
            Self::Unreachable | Self::Dropped | Self::AnswerTooLarge | Self::Invalid(_) => {
                FailureReason::InvalidResponse
            }
        }
    }

    /// The failure that the caller gets (`docs/specification.md`, "Errors in the record of a failed execution").
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Timeout(_) => ErrorCode::ExecutionTimeout,
            _ => ErrorCode::ExecutionFailed,
        };
        let signature = if let Self::Reported { signature, .. } = self { *signature } else { None };
        Failure { signature, ..failure(code, Some(self.reason()), self.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_contract_and_a_reported_failure_end_a_call_with_the_reason_of_each() {
        for (error, reason) in [
            (AnswerError::Invalid("x".to_owned()), FailureReason::InvalidResponse),
            (AnswerError::Reported { error: "x".to_owned(), signature: None }, FailureReason::CreatorFailed),
        ] {
            let error = CreatorError::from(error);
            assert_eq!(error.reason(), reason);
            assert_eq!((error.failure().status, error.failure().code.as_str()), (500, "execution_failed"));
        }
    }
}
