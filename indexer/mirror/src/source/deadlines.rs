//! How long a source waits in each of its steps.

use std::{future::Future, time::Duration};

use tokio::time::timeout;

use super::error::SourceError;

/// Longest time of each step of a source. A step that takes longer has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// To connect a WebSocket, with TLS and its handshake.
    pub connect: Duration,
    /// Until the answer to a small request, to a subscription, or to a ping.
    pub answer: Duration,
    /// Between two messages of a stream.
    pub silence: Duration,
    /// For which the newest slot of a node stands still.
    pub still: Duration,
    /// Until the reader of a full channel takes something out.
    pub reader: Duration,
    /// Until the first byte of an answer that lists accounts.
    pub first_byte: Duration,
    /// Between two parts of such an answer.
    pub between_bytes: Duration,
    /// That a whole snapshot waits for the node. Time in which the reader is slow does not count.
    pub snapshot: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(10),
            silence: Duration::from_secs(10),
            still: Duration::from_secs(30),
            reader: Duration::from_secs(30),
            first_byte: Duration::from_secs(60),
            between_bytes: Duration::from_secs(15),
            snapshot: Duration::from_secs(600),
        }
    }
}

/// What a step of `node` ends with, or that it did not end `after` this time.
pub(super) async fn within<T>(
    node: &str,
    what: &'static str,
    after: Duration,
    step: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, SourceError> {
    let late = |_| Err(SourceError::TimedOut { node: node.to_owned(), what, after });
    timeout(after, step).await.unwrap_or_else(late)
}
