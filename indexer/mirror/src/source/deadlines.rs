//! How long a source waits in each of its steps.

use std::time::Duration;

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
