//! The body of `GET /v1/status`.

use crtx_store::{
    fee_payers::StoredFeePayer,
    housekeeping::Done,
    indexer_status::{Problem, ProcessRow},
    reads::{MirrorCounts, Timestamp},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::digest::DigestAnswer;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StatusResponse {
    /// `starting` before the first snapshot; `live` while the indexer receives changes and nothing is wrong; `degraded`
    /// while it receives changes and something is wrong; else `stale`.
    pub status: &'static str,
    /// What is wrong, in words. Empty if nothing is.
    pub problems: Vec<Problem>,
    /// Endpoints that the indexer cannot use now, and why. They do not make the mirror wrong: it follows others.
    pub unusable_endpoints: Vec<Problem>,
    /// Seconds since the newest sign that the mirror shows the chain; null before the first.
    #[schema(required)]
    pub lag_seconds: Option<u64>,
    /// The mirror shows the chain at this slot or later.
    #[schema(required)]
    pub indexed_slot: Option<u64>,
    /// The chain's confirmed slot at the last heartbeat.
    #[schema(required)]
    pub chain_slot: Option<u64>,
    /// Slots between the two. It grows on a quiet chain until the next change or resync: the mirror is behind by at
    /// most so many slots.
    #[schema(required)]
    pub lag_slots: Option<u64>,
    /// The newest finalized slot that the indexer knows.
    #[schema(required)]
    pub finalized_slot: Option<u64>,
    /// The digest of all accounts at a finalized slot; null while it is computed for the first time.
    #[schema(required)]
    pub digest: Option<DigestAnswer>,
    /// The indexer's processes, the one that writes the mirror first.
    pub processes: Vec<ProcessRow>,
    #[schema(required)]
    pub last_snapshot_at: Option<Timestamp>,
    #[schema(required)]
    pub last_change_at: Option<Timestamp>,
    /// Rows of the mirror, with those of closed accounts. The numbers may be some minutes old.
    pub counts: MirrorCounts,
    /// Accounts of the program whose bytes cannot be decoded. Normally 0.
    pub quarantined: u64,
    /// The account that pays for openings and settlements; null before a gateway has read it.
    #[schema(required)]
    pub fee_payer: Option<StoredFeePayer>,
    /// What the worker did for the market beside its own calls, on all days.
    pub housekeeping: HousekeepingStatus,
    /// Report of the last audit, with `at`.
    #[schema(required, value_type = Option<Object>)]
    pub last_audit: Option<Value>,
}

/// Records that were closed and so on, with what it cost and what it returned.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct HousekeepingStatus {
    /// Refunds of expired executions that no worker ended.
    pub refunds: Done,
    /// Closed records.
    pub closings: Done,
    /// Disputes that ended because nobody decided them in time.
    pub expired_disputes: Done,
    /// Announced roles and parameters that were put into effect.
    pub announcements: Done,
}
