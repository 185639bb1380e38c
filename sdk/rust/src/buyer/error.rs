//! Errors of calls. Each one that belongs to a paid call has its idempotency key: the same call with the same key goes on
//! where the error left it, and never pays twice.

use std::time::Duration;

use strum::{Display, EnumString};
use uuid::Uuid;

use super::types::Purchase;
use crate::verify::Check;

/// What went wrong, and what is known about the call.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct Error {
    pub problem: Box<Problem>,
    /// Of the call; `None` for reads.
    pub idempotency_key: Option<String>,
    /// `None` if no answer named one.
    pub execution_id: Option<Uuid>,
}

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Something of the call or the client is wrong. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The service was not reached, so nothing was charged; or a read was cut off.
    #[error("no answer: {0}")]
    ConnectionFailed(String),
    /// The service refused it, by its code. After [`ApiError::is_refund`] everything was given back.
    #[error(transparent)]
    Api(ApiError),
    /// The chain refused a transaction of the wallet, so nothing was charged.
    #[error("the chain refused it: {0}")]
    ChainRefused(String),
    /// The call may be paid or may not: the answer got lost, or the time was over while it ran. The same call with this
    /// key gets its answer; a new key would pay again.
    #[error("the call may be paid; repeat it with the same idempotency key (last: {0})")]
    OutcomeUnknown(String),
    /// A result, its signature, its record or its settlement is not what it has to be: `check` names what.
    #[error("{check}: {detail}")]
    VerificationFailed {
        check: &'static str,
        detail: String,
        checks: Vec<Check>,
        /// Do not use it as a result.
        refused: Option<Box<Purchase>>,
    },
    /// The result could not be checked, because no Solana node shows what is needed. It is in `unchecked` if it is paid,
    /// and [`Client::verify`](super::Client::verify) checks it later.
    #[error("not verified: {why}")]
    NotVerified { why: String, unchecked: Option<Box<Purchase>> },
}

/// An error of the service.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{status} {name}: {message}")]
pub struct ApiError {
    /// The HTTP status; 0 if the error stands in the record of an execution.
    pub status: u16,
    pub code: ErrorCode,
    /// The code as the service writes it; `unknown` if something in front of the service answered.
    pub name: String,
    pub message: String,
    /// When the service can be asked again.
    pub retry_after: Option<Duration>,
    /// Names the request in the logs of the service.
    pub request_id: Option<String>,
}

/// The stable codes of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    InvalidRequest,
    Unauthorized,
    InsufficientBalance,
    Forbidden,
    AgentNotFound,
    ExecutionNotFound,
    NotFound,
    MethodNotAllowed,
    ExecutionTimeout,
    RequestTimeout,
    Conflict,
    PayloadTooLarge,
    UriTooLong,
    UnsupportedMediaType,
    AgentPaused,
    AgentUnpayable,
    RateLimited,
    HeadersTooLarge,
    ExecutionFailed,
    Interrupted,
    ResultUnavailable,
    Internal,
    Stale,
    Unavailable,
    /// None of the service, or one of a later version.
    Unknown,
}

impl ApiError {
    pub(crate) fn new(status: u16, name: &str, message: &str) -> Self {
        let (code, name) = (name.parse().unwrap_or(ErrorCode::Unknown), name.to_owned());
        Self { status, code, name, message: message.to_owned(), retry_after: None, request_id: None }
    }

    /// The call failed, and the whole amount was refunded. A new attempt needs a new idempotency key.
    pub const fn is_refund(&self) -> bool {
        matches!(self.code, ErrorCode::ExecutionFailed | ErrorCode::ExecutionTimeout | ErrorCode::Interrupted)
    }

    /// The outcome of the call is known: nothing of it runs any more.
    pub(crate) const fn is_end(&self) -> bool {
        self.is_refund() || matches!(self.code, ErrorCode::ResultUnavailable)
    }
}

impl Error {
    /// The service's code, if the service refused it.
    pub fn code(&self) -> Option<ErrorCode> {
        match &*self.problem {
            Problem::Api(error) => Some(error.code),
            _ => None,
        }
    }

    /// The check that failed, if one did.
    pub fn failed_check(&self) -> Option<&'static str> {
        match &*self.problem {
            Problem::VerificationFailed { check, .. } => Some(check),
            _ => None,
        }
    }

    pub(crate) fn of_call(self, key: Option<&str>, execution_id: Option<Uuid>) -> Self {
        let idempotency_key = self.idempotency_key.or_else(|| key.map(str::to_owned));
        Self { idempotency_key, execution_id: self.execution_id.or(execution_id), ..self }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), idempotency_key: None, execution_id: None }
    }
}

/// A problem of what is given, before anything is sent.
pub(crate) fn invalid(what: impl ToString) -> Error {
    Problem::Invalid(what.to_string()).into()
}
