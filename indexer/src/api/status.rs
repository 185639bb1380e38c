//! `GET /v1/status`: the state of the mirror.

use axum::{Json, extract::State};
use chrono::Utc;
use crtx_http::{ApiError, ApiQuery, ErrorBody};
use crtx_store::{
    StoreError, fee_payers,
    housekeeping::{self, Chore},
    indexer_status, mirror,
    pools::ReadConnection,
    reads,
};
use serde_json::Value;

use super::{
    lanes::{Client, Query},
    state::IndexerApiState,
    status_response::{ChoreStatus, FeePayerStatus, HousekeepingStatus, MirrorCounts, StatusResponse},
    types::Timestamp,
};

/// The indexer counts as down if its last heartbeat is older.
const HEARTBEAT_MAX_AGE_S: i64 = 30;

/// State of the mirror, and the result of its last audit.
#[utoipa::path(
    get, path = "/v1/status", tag = "service", operation_id = "status",
    responses(
        (status = 200, description = "State of the mirror", body = StatusResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn status(
    State(state): State<IndexerApiState>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<StatusResponse>, ApiError> {
    if let Some(status) = state.status().fresh() {
        return Ok(Json(status));
    }
    let reading = state.clone();
    let status = state.status().ask(async move {
        let query: Query<StatusResponse> = Box::new(|connection| Box::pin(read(connection)));
        let (status, took) = reading.lanes().list(Client::Local, "status", &query).await?;
        reading.status().keep(&status, took);
        Ok(status)
    });
    Ok(Json(status.await?))
}

async fn read(mut connection: ReadConnection) -> Result<StatusResponse, StoreError> {
    let status = read_with(&mut connection).await?;
    connection.done();
    Ok(status)
}

async fn read_with(connection: &mut ReadConnection) -> Result<StatusResponse, StoreError> {
    let checkpoint = mirror::checkpoint(&mut **connection).await?;
    let heartbeat = indexer_status::heartbeat(&mut **connection).await?;
    let counts = reads::mirror_counts(&mut **connection).await?;
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
    let housekeeping = HousekeepingStatus {
        refunds: chore(connection, Chore::Refund).await?,
        closings: chore(connection, Chore::Close).await?,
        expired_disputes: chore(connection, Chore::ExpireDispute).await?,
        announcements: chore(connection, Chore::ApplyAnnouncement).await?,
    };
    let fresh = heartbeat.as_ref().is_some_and(|beat| {
        beat.streaming && Utc::now().signed_duration_since(beat.at).num_seconds() <= HEARTBEAT_MAX_AGE_S
    });
    let snapshot_at = checkpoint.as_ref().and_then(|checkpoint| checkpoint.snapshot_at);
    let indexed_slot = checkpoint.map(|checkpoint| checkpoint.slot);
    let chain_slot = heartbeat.as_ref().map(|beat| beat.chain_slot);
    Ok(StatusResponse {
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
        counts: MirrorCounts {
            agents: counts.agents,
            agents_without_metadata: counts.agents_without_metadata,
            creators: counts.creators,
            executions: counts.executions,
            disputes: counts.disputes,
            grants: counts.grants,
        },
        quarantined: counts.quarantined,
        fee_payer,
        housekeeping,
        last_audit,
    })
}

async fn chore(connection: &mut ReadConnection, chore: Chore) -> Result<ChoreStatus, StoreError> {
    let done = housekeeping::total(&mut **connection, chore).await?;
    Ok(ChoreStatus {
        actions: done.actions,
        fees_lamports: done.fees_lamports,
        rent_returned_lamports: done.rent_lamports,
    })
}
