//! Errors between a service and its RPC nodes. No message contains a whole URL, because URLs of providers contain
//! their customers' keys.

use std::time::Duration;

/// Why one node, or all of them, failed to answer a request. It says nothing about a transaction that was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("the node cannot be reached: {0}")]
    Unreachable(String),
    #[error("the node did not answer in time")]
    TimedOut,
    #[error("the node answered with HTTP status {0}")]
    Status(u16),
    /// HTTP 429, or 503 with `Retry-After`.
    #[error("the node accepts no requests for {} ms", retry_after.as_millis())]
    RateLimited { retry_after: Duration },
    #[error("the node's answer is longer than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the node's answer is not {0}")]
    Malformed(&'static str),
    /// A JSON-RPC error.
    #[error("the node refused: {message} ({code})")]
    Refused { code: i64, message: String },
    /// The node has not seen the slot that the answer had to include.
    #[error("the node has not reached slot {wanted}")]
    Behind { wanted: u64 },
    /// Every node failed a moment ago, so no node was asked.
    #[error("no node is asked for another {} ms, since all of them failed", retry_after.as_millis())]
    Resting { retry_after: Duration },
    #[error("the RPC nodes are not configured: {0}")]
    Misconfigured(String),
}

impl ChainError {
    /// How long to wait before the next request, if that is known.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Resting { retry_after } => Some(*retry_after),
            _ => None,
        }
    }
}
