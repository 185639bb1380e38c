//! `GET /v1/status`: how far the mirror is.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{Json, extract::State};
use chrono::Utc;
use crtx_http::{ApiError, ApiQuery};
use crtx_store::{StoreError, fee_payers, indexer_status, mirror, pools::ReadConnection};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    IndexerApiState, Timestamp,
    flights::Flights,
    lanes::{Client, Query},
};

/// Counting is the expensive part: one count serves everybody who asks within this time, or within
/// [`AGE_PER_COST`] times as long as it took, up to [`MAX_AGE`].
const MIN_AGE: Duration = Duration::from_secs(2);
const AGE_PER_COST: u32 = 10;
const MAX_AGE: Duration = Duration::from_secs(30);
/// Without a heartbeat for this long the indexer is taken to be down.
const HEARTBEAT_MAX_AGE_S: i64 = 30;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Status {
    /// `starting` before the first snapshot, `live` while changes stream in, else `stale`.
    pub status: &'static str,
    /// The mirror shows the chain at this slot or later.
    #[schema(required)]
    pub indexed_slot: Option<u64>,
    /// The chain's confirmed slot at the last heartbeat.
    #[schema(required)]
    pub chain_slot: Option<u64>,
    /// Slots between the two. Grows on a quiet chain until the next change or resync: it bounds how far the
    /// mirror can be behind, not how far it is.
    #[schema(required)]
    pub lag_slots: Option<u64>,
    #[schema(required)]
    pub last_snapshot_at: Option<Timestamp>,
    #[schema(required)]
    pub last_change_at: Option<Timestamp>,
    pub counts: Counts,
    /// Accounts of the program whose bytes could not be read. 0 when all is well.
    pub quarantined: u64,
    /// The account that pays for openings and settlements; null if no gateway has looked at it yet.
    #[schema(required)]
    pub fee_payer: Option<FeePayerStatus>,
    /// Report of the last audit, with `at`.
    #[schema(required, value_type = Option<Object>)]
    pub last_audit: Option<Value>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FeePayerStatus {
    pub address: String,
    pub lamports: u64,
    /// `ok`; `low` when somebody should send SOL; `empty` when new calls are refused and what is left settles and
    /// refunds the open ones.
    pub state: &'static str,
    /// Calls that the balance pays for before new ones are refused.
    pub calls_left: u64,
    /// When a gateway looked.
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Counts {
    pub agents: u64,
    /// Listings whose metadata document is not there (yet); they are not shown.
    pub agents_without_metadata: u64,
    pub creators: u64,
    pub executions: u64,
    pub disputes: u64,
    pub grants: u64,
}

/// How far the mirror is, and what its last audit found.
#[utoipa::path(
    get, path = "/v1/status", tag = "service", operation_id = "status",
    responses((status = 200, description = "State of the mirror", body = Status))
)]
pub async fn status(
    State(state): State<IndexerApiState>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<Status>, ApiError> {
    if let Some(status) = state.shared.status.fresh() {
        return Ok(Json(status));
    }
    let reading = state.clone();
    let status = state.shared.status.flights.join("status", async move {
        let query: Query<Status> = Box::new(|connection| Box::pin(read(connection)));
        let (status, took) = reading.lanes().list(Client::Local, "status", &query).await?;
        reading.shared.status.keep(&status, took);
        Ok(status)
    });
    Ok(Json(status.await?))
}

/// The last status that was read.
#[derive(Default)]
pub struct StatusCache {
    flights: Flights<Status>,
    /// Until when it is believed.
    kept: Mutex<Option<(Instant, Status)>>,
}

impl StatusCache {
    fn fresh(&self) -> Option<Status> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(until, _)| Instant::now() < *until).map(|(_, status)| status.clone())
    }

    fn keep(&self, status: &Status, took: Duration) {
        let age = took.saturating_mul(AGE_PER_COST).clamp(MIN_AGE, MAX_AGE);
        let until = Instant::now().checked_add(age);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = until.map(|until| (until, status.clone()));
    }
}

async fn read(mut connection: ReadConnection) -> Result<Status, StoreError> {
    let status = read_with(&mut connection).await?;
    connection.done();
    Ok(status)
}

async fn read_with(connection: &mut ReadConnection) -> Result<Status, StoreError> {
    let checkpoint = mirror::checkpoint(&mut **connection).await?;
    let heartbeat = indexer_status::heartbeat(&mut **connection).await?;
    let counts = mirror::counts(&mut **connection).await?;
    let last_audit = indexer_status::last_audit(&mut **connection).await?.map(|(mut report, at)| {
        if let (Value::Object(members), Ok(at)) = (&mut report, serde_json::to_value(Timestamp(at))) {
            members.insert("at".to_owned(), at);
        }
        report
    });
    let fee_payer = fee_payers::latest(&mut **connection).await?.map(|(payer, at)| FeePayerStatus {
        address: payer.address.to_string(),
        lamports: payer.lamports,
        state: payer.state.as_str(),
        calls_left: payer.calls_left,
        at: Timestamp(at),
    });
    let fresh = heartbeat.as_ref().is_some_and(|beat| {
        beat.streaming && Utc::now().signed_duration_since(beat.at).num_seconds() <= HEARTBEAT_MAX_AGE_S
    });
    let snapshot_at = checkpoint.as_ref().and_then(|checkpoint| checkpoint.snapshot_at);
    let indexed_slot = checkpoint.map(|checkpoint| checkpoint.slot);
    let chain_slot = heartbeat.as_ref().map(|beat| beat.chain_slot);
    Ok(Status {
        status: match (snapshot_at, fresh) {
            (None, _) => "starting",
            (Some(_), true) => "live",
            (Some(_), false) => "stale",
        },
        indexed_slot,
        chain_slot,
        lag_slots: chain_slot.zip(indexed_slot).map(|(chain, indexed)| chain.saturating_sub(indexed)),
        last_snapshot_at: snapshot_at.map(Timestamp),
        last_change_at: heartbeat.and_then(|beat| beat.last_change).map(Timestamp),
        counts: Counts {
            agents: counts.agents,
            agents_without_metadata: counts.agents_without_metadata,
            creators: counts.creators,
            executions: counts.executions,
            disputes: counts.disputes,
            grants: counts.grants,
        },
        quarantined: counts.quarantined,
        fee_payer,
        last_audit,
    })
}
