//! Why executions fail: codes and messages for callers. The answer adds the state of the escrow.

use agent_marketplace::state::FailureReason;
use crtx_http::ErrorCode;
use crtx_store::executions::Failure;

/// The result was valid, but could not be settled. The agent did its part, so this is not its failure.
pub(super) fn not_settled(problem: &str) -> Failure {
    failure(ErrorCode::ExecutionFailed, FailureReason::Interrupted, problem)
}

/// This service was interrupted before it asked the agent or while the agent worked. This is not the agent's failure
/// and does not count as one.
pub(crate) fn interrupted() -> Failure {
    failure(
        ErrorCode::Interrupted,
        FailureReason::Interrupted,
        "the service was interrupted while the agent worked, and the time that is left is too short to ask again",
    )
}

/// The creator may refund at any time, and anyone may after the deadline, without this gateway.
pub(crate) fn refunded_elsewhere() -> Failure {
    failure(ErrorCode::ExecutionFailed, FailureReason::Expired, "the execution was ended on chain without this gateway")
}

fn failure(code: ErrorCode, reason: FailureReason, problem: &str) -> Failure {
    Failure {
        reason: Some(reason as u8),
        status: code.status().as_u16(),
        code: code.as_str().to_owned(),
        message: problem.to_owned(),
    }
}
