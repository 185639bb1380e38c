//! How executions end, and what a waiting handler sees.

use std::sync::Arc;

use crtx_http::ApiError;
use crtx_store::executions::{Charged, Delivered, Failure, SettledElsewhere};

use super::time_spent::TimeSpent;

/// How this worker's part in an execution ended.
#[derive(Clone, Debug, PartialEq)]
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

impl Ended {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed(..) => "completed",
            Self::SettledElsewhere(_) => "settled elsewhere",
            Self::Failed(_) => "refunded",
            Self::NotOpened(_) => "not opened",
            Self::NeverOpened(_) => "refused before it was opened",
            Self::OpeningUnknown => "opening unknown",
            Self::StillSettling => "still settling",
            Self::RefundPending(_) => "refund pending",
        }
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
