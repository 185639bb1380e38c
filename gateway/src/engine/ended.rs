//! How executions end, and what a waiting handler sees of one.

use std::sync::Arc;

use crtx_http::ApiError;
use crtx_store::executions::{Charged, Delivered, Failure, SettledElsewhere};

use super::time_spent::TimeSpent;

/// How an execution left this worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    Completed(Box<Delivered>, Charged),
    /// Completed on chain by somebody else, with a result that this gateway does not have.
    SettledElsewhere(SettledElsewhere),
    /// Refunded, on chain.
    Failed(Failure),
    /// Nothing was charged.
    NotOpened(Failure),
    /// No escrow was opened, and no execution exists: what was stored of it is deleted.
    NeverOpened(ApiError),
    /// The opening was sent and its outcome is not known yet.
    OpeningUnknown,
    /// The result is good; the settlement's outcome is not known yet.
    StillSettling,
    /// The refund's outcome is not known yet.
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
