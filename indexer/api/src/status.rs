//! `GET /v1/status`: the state of the mirror, and what is wrong with it: what the indexer's processes report, what the last
//! audit found, and what the silence of processes means.

use std::time::Duration;

use axum::extract::State;
use chrono::{DateTime, Utc};
use crtx_http::{ApiError, ApiQuery, KeptBody};
use crtx_store::{
    StoreError,
    clocks::{CLOCK_SKEW, clock_problem},
    fee_payers::{self, StoredFeePayer},
    housekeeping::{Chore, Done, total},
    indexer_status::{self, ENDPOINT_UNUSABLE, Heartbeat, Problem, ProcessRow},
    mirror::{self, DigestRow},
    pools::ReadConnection,
    reads::{self, MirrorCounts},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    freshness::{DEFAULT_MAX_LAG, words},
    state::ApiState,
    types::Timestamp,
};

/// Counted rows are kept for this multiple of what counting took, within these bounds.
const COUNTS_AGE_PER_COST: u32 = 100;
const MIN_COUNTS_AGE: Duration = Duration::from_secs(2);
const MAX_COUNTS_AGE: Duration = Duration::from_secs(600);

/// A process that has not reported for so many seconds is taken to be down.
const SILENT_AFTER_S: f64 = 30.0;
/// Faults of the audit that are said one by one.
const MAX_FAULTS: usize = 5;
/// Longest text that a problem quotes.
const MAX_TEXT: usize = 500;

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
    pub digest: Option<DigestRow>,
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

/// State of the mirror, and the result of its last audit.
#[utoipa::path(
    get, path = "/v1/status", tag = "service", operation_id = "status",
    responses(
        (status = 200, description = "State of the mirror", body = StatusResponse)
    )
)]
pub async fn status(State(state): State<ApiState>, ApiQuery(()): ApiQuery<()>) -> Result<KeptBody, ApiError> {
    let reading = async {
        let counts = state.shared.counts.get((), counts(&state)).await?;
        let allowed = state.max_lag.unwrap_or(DEFAULT_MAX_LAG);
        let read = async |connection: &mut ReadConnection| Ok(read(connection, counts, allowed).await?);
        state.shared.connections.kept_list(read).await
    };
    state.kept_answer("status", reading).await
}

/// Counting takes time that grows with the market, so it takes at most a hundredth of one connection's time.
async fn counts(state: &ApiState) -> Result<(MirrorCounts, Duration), ApiError> {
    let read = async |connection: &mut ReadConnection| Ok(reads::mirror_counts(&mut **connection).await?);
    let (counts, took) = state.shared.connections.kept_list(read).await?;
    let age = took.saturating_mul(COUNTS_AGE_PER_COST).clamp(MIN_COUNTS_AGE, MAX_COUNTS_AGE);
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
    let snapshot_at = checkpoint.as_ref().and_then(|checkpoint| checkpoint.snapshot_at);
    let lag = checkpoint.as_ref().and_then(|checkpoint| Duration::try_from_secs_f64(checkpoint.lag_seconds).ok());
    let streaming = heartbeat.as_ref().is_some_and(|beat| beat.streaming && beat.silent_s <= SILENT_AFTER_S);
    let (mut problems, unusable_endpoints) = of_processes(&processes, heartbeat.as_ref());
    if !problems.iter().any(|problem| problem.code == CLOCK_SKEW) {
        let skew = indexer_status::clock_skew(&mut **connection).await?;
        problems.extend(clock_problem(skew).map(|text| problem(CLOCK_SKEW, text)));
    }
    problems.extend(of_lag(lag.filter(|_| snapshot_at.is_some()), allowed));
    let fee_payer = fee_payers::latest(&mut **connection).await?;
    let treasury = fee_payer.as_ref().and_then(|payer| payer.treasury_problem.clone());
    problems.extend(treasury.map(|text| problem("treasury", text)));
    let (quarantined, example) = reads::quarantined(&mut **connection).await?;
    problems.extend(of_quarantine(quarantined, example));
    let last_audit = indexer_status::last_audit(&mut **connection).await?.map(|(mut report, at)| {
        problems.extend(of_audit(&report, at));
        if let (Value::Object(members), Ok(at)) = (&mut report, serde_json::to_value(Timestamp(at))) {
            members.insert("at".to_owned(), at);
        }
        report
    });
    let indexed_slot = checkpoint.map(|checkpoint| checkpoint.slot);
    let chain_slot = heartbeat.as_ref().map(|beat| beat.chain_slot);
    let status = if snapshot_at.is_none() {
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
        unusable_endpoints,
        lag_seconds: lag.map(|lag| lag.as_secs()),
        indexed_slot,
        chain_slot,
        lag_slots: chain_slot.zip(indexed_slot).map(|(chain, indexed)| chain.saturating_sub(indexed)),
        finalized_slot: processes.iter().filter_map(|process| process.finalized_slot).max().map(Into::into),
        digest: mirror::digest(&mut **connection).await?,
        processes,
        last_snapshot_at: snapshot_at.map(Timestamp),
        last_change_at: heartbeat.and_then(|beat| beat.last_change).map(Timestamp),
        counts,
        quarantined,
        fee_payer,
        housekeeping: HousekeepingStatus {
            refunds: total(&mut **connection, Chore::Refund).await?,
            closings: total(&mut **connection, Chore::Close).await?,
            expired_disputes: total(&mut **connection, Chore::ExpireDispute).await?,
            announcements: total(&mut **connection, Chore::ApplyAnnouncement).await?,
        },
        last_audit,
    })
}

/// Shortens the message: nodes and accounts wrote parts of it.
fn problem(code: &str, message: impl Into<String>) -> Problem {
    let message: String = message.into();
    Problem { code: code.to_owned(), message: message.chars().take(MAX_TEXT).collect() }
}

/// What the process that writes the mirror reports, or why there is none, and apart from that the endpoints that it cannot
/// use: while it follows another one, they are no problem of the mirror.
fn of_processes(processes: &[ProcessRow], heartbeat: Option<&Heartbeat>) -> (Vec<Problem>, Vec<Problem>) {
    let mut alive = processes.iter().filter(|process| process.silent_s <= SILENT_AFTER_S).peekable();
    let stands_by = alive.peek().is_some();
    if let Some(leader) = alive.find(|process| process.leads) {
        let reported = leader.problems.iter().cloned();
        let (unusable, mut problems): (Vec<_>, Vec<_>) = reported.partition(|it| it.code == ENDPOINT_UNUSABLE);
        if !leader.streaming && problems.is_empty() {
            let text = format!("the indexer receives no changes from {}", leader.source);
            problems.push(problem("not_streaming", text));
        }
        return (problems, unusable);
    }
    let problem = match heartbeat {
        _ if stands_by => Some(problem("no_leader", "indexer processes run, and none of them writes the mirror")),
        Some(beat) if beat.silent_s <= SILENT_AFTER_S => None,
        Some(beat) => {
            let silent = words(Duration::try_from_secs_f64(beat.silent_s).unwrap_or_default());
            Some(problem("no_indexer", format!("no indexer has reported for {silent}")))
        }
        None => Some(problem("no_indexer", "no indexer has ever reported")),
    };
    (problem.into_iter().collect(), Vec::new())
}

/// The mirror's age, if it is too old.
fn of_lag(lag: Option<Duration>, allowed: Duration) -> Option<Problem> {
    let lag = lag.filter(|lag| *lag > allowed)?;
    Some(problem("stale", format!("the newest proven state of the mirror is {} old", words(lag))))
}

fn of_quarantine(count: u64, example: Option<(String, String)>) -> Option<Problem> {
    let (address, error) = example.filter(|_| count > 0)?;
    let text = format!("{count} accounts of the program cannot be read, for example {address}: {error}");
    Some(problem("unreadable_accounts", text))
}

/// What the last audit found.
fn of_audit(report: &Value, at: DateTime<Utc>) -> Vec<Problem> {
    if report.get("ok").and_then(Value::as_bool) == Some(true) {
        return Vec::new();
    }
    let faults = report.get("faults").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all: u64 = report
        .get("checks")
        .and_then(Value::as_object)
        .map(|checks| checks.values().filter_map(|check| check.get("faults")?.as_u64()).sum())
        .unwrap_or(0);
    let time = at.format("%Y-%m-%dT%H:%M:%SZ");
    let mut problems = vec![problem("audit", format!("the audit of {time} found {all} faults"))];
    problems.extend(faults.iter().take(MAX_FAULTS).map(|fault| {
        let text = |member: &str| fault.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        problem(&format!("audit_{}", text("check")), format!("{}: {}", text("place"), text("message")))
    }));
    if let Some(corrected) = report.get("corrected").and_then(Value::as_u64).filter(|corrected| *corrected > 0) {
        let text = format!("the audit of {time} wrote {corrected} of them again as the chain has it");
        problems.push(problem("audit_corrected", text));
    }
    problems
}
