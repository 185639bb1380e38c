//! Why executions fail: codes and messages for callers. The answer adds the state of the escrow.

use agent_marketplace::state::FailureReason;
use crtx_http::ErrorCode;
use crtx_store::executions::Failure;

/// The result was valid, but could not be settled.
pub(super) fn failed(problem: &str) -> Failure {
    failure(ErrorCode::ExecutionFailed, FailureReason::InvalidResponse, problem)
}

/// This service was interrupted while the agent worked. This is not the agent's fault and does not count as its
/// time-out.
pub(super) fn interrupted() -> Failure {
    failure(
        ErrorCode::Interrupted,
        FailureReason::InvalidResponse,
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
