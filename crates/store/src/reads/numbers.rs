//! The program's numbers in rows, which only Rust reads.

use agent_marketplace::state::{DisputeOutcome, FailureReason, Settler};

use crate::error::StoreError;

pub(super) fn failure_reason(number: i16) -> Result<FailureReason, StoreError> {
    use FailureReason::{CreatorFailed, Expired, Interrupted, InvalidResponse, Timeout};
    [CreatorFailed, Timeout, InvalidResponse, Expired, Interrupted]
        .into_iter()
        .find(|reason| number == i16::from(*reason as u8))
        .ok_or_else(|| StoreError::corrupt("failure reason", number))
}

pub(super) fn settler(number: i16) -> Result<Settler, StoreError> {
    [Settler::Caller, Settler::Creator, Settler::Gateway]
        .into_iter()
        .find(|settler| number == i16::from(*settler as u8))
        .ok_or_else(|| StoreError::corrupt("settler", number))
}

pub(super) fn dispute_outcome(number: i16) -> Result<DisputeOutcome, StoreError> {
    use DisputeOutcome::{Expired, Open, Rejected, Upheld};
    [Open, Upheld, Rejected, Expired]
        .into_iter()
        .find(|outcome| number == i16::from(*outcome as u8))
        .ok_or_else(|| StoreError::corrupt("dispute outcome", number))
}
