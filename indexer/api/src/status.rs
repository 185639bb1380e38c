//! `GET /v1/status`: the state of the mirror.

use std::time::{Duration, Instant};

use axum::{Json, extract::State};
use crtx_http::{ApiError, ApiQuery, ErrorBody};
use crtx_store::{
    StoreError,
    clocks::{CLOCK_SKEW, clock_problem},
    fee_payers,
    housekeeping::{self, Chore},
    indexer_status::{self, ProcessRow},
    mirror,
    pools::ReadConnection,
    reads::{self, MirrorCounts},
};
use serde_json::Value;

use crate::{
    digest::DigestAnswer,
    freshness::DEFAULT_MAX_LAG,
    kept::age_of,
    state::ApiState,
    status_problems::{self, SILENT_AFTER_S, StatusProblem},
    status_response::{ChoreStatus, FeePayerStatus, HousekeepingStatus, IndexerProcess, StatusResponse},
    types::Timestamp,
};

/// Counted rows are kept for this multiple of what counting took, within these bounds.
const COUNTS_AGE_PER_COST: u32 = 100;
const MIN_COUNTS_AGE: Duration = Duration::from_secs(2);
const MAX_COUNTS_AGE: Duration = Duration::from_secs(600);

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
    State(state): State<ApiState>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<StatusResponse>, ApiError> {
    let reading = async {
        let counts = state.shared.counts.get((), counts(&state)).await?;
        let allowed = state.max_lag.unwrap_or(DEFAULT_MAX_LAG);
        let mut connection = state.shared.connections.kept_list().await?;
        let started = Instant::now();
        let status = read(&mut connection, counts, allowed).await?;
        connection.done();
        Ok((status, age_of(started.elapsed())))
    };
    Ok(Json(state.shared.status.get((), reading).await?))
}

/// Counting takes time that grows with the market, so it takes at most a hundredth of one connection's time.
async fn counts(state: &ApiState) -> Result<(MirrorCounts, Duration), ApiError> {
    let mut connection = state.shared.connections.kept_list().await?;
    let started = Instant::now();
    let counts = reads::mirror_counts(&mut *connection).await?;
    connection.done();
    let age = started.elapsed().saturating_mul(COUNTS_AGE_PER_COST).clamp(MIN_COUNTS_AGE, MAX_COUNTS_AGE);
    Ok((counts, age))
}

async fn read(
    connection: &mut ReadConnection,
    counts: MirrorCounts,
    allowed: Duration,
) -> Result<StatusResponse, StoreError> {
    let checkpoint = mirror::checkpoint(&mut **connection).await?;
    let heartbeat = indexer_status::heartbeat(&mut **connection).await?;
    let processes = indexer_status::processes(&mut **connection).await?;
    let freshness = reads::freshness(&mut **connection).await?;
    let lag = freshness.lag_seconds.and_then(|lag| Duration::try_from_secs_f64(lag).ok());
    let streaming = heartbeat.as_ref().is_some_and(|beat| beat.streaming && beat.silent_s <= SILENT_AFTER_S as f64);
    let mut problems = status_problems::of_processes(&processes, heartbeat.as_ref());
    if !problems.iter().any(|problem| problem.code == CLOCK_SKEW) {
        let skew = indexer_status::clock_skew(&mut **connection).await?;
        problems.extend(clock_problem(skew).map(|text| StatusProblem::new(CLOCK_SKEW, text)));
    }
    problems.extend(status_problems::of_lag(lag.filter(|_| freshness.has_snapshot), allowed));
    let (quarantined, example) = reads::quarantined(&mut **connection).await?;
    problems.extend(status_problems::of_quarantine(quarantined, example));
    let last_audit = indexer_status::last_audit(&mut **connection).await?.map(|(mut report, at)| {
        problems.extend(status_problems::of_audit(&report, at));
        if let (Value::Object(members), Ok(at)) = (&mut report, serde_json::to_value(Timestamp(at))) {
            members.insert("at".to_owned(), at);
        }
        report
    });
    let snapshot_at = checkpoint.as_ref().and_then(|checkpoint| checkpoint.snapshot_at);
    let indexed_slot = checkpoint.map(|checkpoint| checkpoint.slot);
    let chain_slot = heartbeat.as_ref().map(|beat| beat.chain_slot);
    let status = if !freshness.has_snapshot {
        "starting"
    } else if !streaming || lag.is_none_or(|lag| lag > allowed) {
        "stale"
    } else if problems.is_empty() {
        "live"
    } else {
        "degraded"
    };
    Ok(StatusResponse {
        status,
        problems,
        unusable_endpoints: status_problems::of_endpoints(&processes),
        lag_seconds: lag.map(|lag| lag.as_secs()),
        indexed_slot,
        chain_slot,
        lag_slots: chain_slot.zip(indexed_slot).map(|(chain, indexed)| chain.saturating_sub(indexed)),
        finalized_slot: processes.iter().filter_map(|process| process.beat.finalized_slot).max(),
        digest: mirror::digest(&mut **connection).await?.map(DigestAnswer::from),
        processes: processes.into_iter().map(process).collect(),
        last_snapshot_at: snapshot_at.map(Timestamp),
        last_change_at: heartbeat.and_then(|beat| beat.last_change).map(Timestamp),
        counts,
        quarantined,
        fee_payer: fee_payer(connection).await?,
        housekeeping: HousekeepingStatus {
            refunds: chore(connection, Chore::Refund).await?,
            closings: chore(connection, Chore::Close).await?,
            expired_disputes: chore(connection, Chore::ExpireDispute).await?,
            announcements: chore(connection, Chore::ApplyAnnouncement).await?,
        },
        last_audit,
    })
}

fn process(row: ProcessRow) -> IndexerProcess {
    let beat = row.beat;
    IndexerProcess {
        id: beat.id.to_string(),
        leads: beat.leads,
        source: beat.source,
        streaming: beat.streaming,
        chain_slot: beat.chain_slot,
        finalized_slot: beat.finalized_slot,
        started_at: Timestamp(row.started_at),
        at: Timestamp(row.at),
        last_event_at: beat.last_event_at.map(Timestamp),
        last_change_at: beat.last_change_at.map(Timestamp),
        problems: beat.problems.into_iter().map(|problem| StatusProblem::new(&problem.code, problem.message)).collect(),
    }
}

async fn fee_payer(connection: &mut ReadConnection) -> Result<Option<FeePayerStatus>, StoreError> {
    Ok(fee_payers::latest(&mut **connection).await?.map(|(payer, at)| FeePayerStatus {
        address: payer.address.to_string(),
        lamports: payer.lamports,
        state: payer.state.into_str(),
        calls_left: payer.calls_left,
        at: Timestamp(at),
    }))
}

async fn chore(connection: &mut ReadConnection, chore: Chore) -> Result<ChoreStatus, StoreError> {
    let done = housekeeping::total(&mut **connection, chore).await?;
    Ok(ChoreStatus {
        actions: done.actions,
        fees_lamports: done.fees_lamports,
        rent_returned_lamports: done.rent_lamports,
    })
}
