//! Why a source failed, in words that a status can show, and a code for each kind.

use std::time::Duration;

use crtx_protocol::text::shortened;

/// Longest part of a node's message that is kept.
pub(super) const MAX_REASON_CHARS: usize = 300;

/// Why a source failed. `node` is the host of an endpoint, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("the node at {node} cannot be reached: {reason}")]
    Unreachable { node: String, reason: String },
    #[error("the node at {node} did not answer {what} within {} seconds", after.as_secs_f32())]
    TimedOut { node: String, what: &'static str, after: Duration },
    /// An error that the node answered. `code` is that of JSON-RPC, or the HTTP status.
    #[error("the node at {node} refuses {what}: {reason} ({code})")]
    Refused { node: String, what: &'static str, code: i64, reason: String },
    #[error("the node at {node} refuses the subscription to the program's accounts: {reason}")]
    SubscriptionRefused { node: String, reason: String },
    #[error("the node at {node} does not list the accounts of a program: {reason}")]
    ProgramQueriesRefused { node: String, reason: String },
    #[error("the node at {node} has sent nothing for {} seconds", after.as_secs_f32())]
    Silent { node: String, after: Duration },
    #[error("the newest slot of the node at {node} has been {slot} for {} seconds", after.as_secs_f32())]
    StandsStill { node: String, slot: u64, after: Duration },
    #[error("the node at {node} ended the stream: {reason}")]
    Closed { node: String, reason: String },
    #[error("the node at {node} sent {what} that cannot be read")]
    Malformed { node: String, what: &'static str },
    #[error("the node at {node} sent {what} of more than {limit} bytes")]
    TooLarge { node: String, what: &'static str, limit: usize },
    #[error("the node at {node} has not reached slot {wanted}")]
    Behind { node: String, wanted: u64 },
    #[error("the snapshot of the node at {node} is incomplete: {reason}")]
    SnapshotIncomplete { node: String, reason: String },
    #[error("the node at {node} belongs to the chain {genesis}, and the mirror follows {expected}")]
    OtherGenesis { node: String, genesis: String, expected: String },
    /// The stream lacks changes, or may lack them.
    #[error("the stream of the node at {node} misses changes: {reason}")]
    Missed { node: String, reason: String },
    #[error("the changes of the node at {node} were not taken within {} seconds", after.as_secs_f32())]
    ReaderTooSlow { node: String, after: Duration },
    #[error("the stream of the node at {node} stood in for one that is there again")]
    Replaced { node: String },
    #[error("the stream of changes ended")]
    StreamEnded,
}

impl SourceError {
    pub(super) fn unreachable(node: &str, reason: impl AsRef<str>) -> Self {
        Self::Unreachable { node: node.to_owned(), reason: shortened(reason.as_ref(), MAX_REASON_CHARS) }
    }

    pub(crate) fn incomplete(node: &str, reason: impl Into<String>) -> Self {
        Self::SnapshotIncomplete { node: node.to_owned(), reason: reason.into() }
    }

    /// The code of this problem in `GET /v1/status`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Refused { .. } => "source_unreachable",
            Self::SubscriptionRefused { .. } => "subscription_refused",
            Self::ProgramQueriesRefused { .. } => "snapshot_failed",
            Self::Silent { .. } | Self::Closed { .. } | Self::Replaced { .. } | Self::StreamEnded => "silent_stream",
            Self::StandsStill { .. } => "slot_stands_still",
            Self::Malformed { .. } | Self::TooLarge { .. } | Self::Missed { .. } | Self::ReaderTooSlow { .. } => {
                "stream_missed_changes"
            }
            Self::Behind { .. } => "behind",
            Self::SnapshotIncomplete { .. } => "snapshot_incomplete",
            Self::OtherGenesis { .. } => "other_genesis_held",
        }
    }
}
