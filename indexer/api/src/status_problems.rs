//! What is wrong with the mirror, in words: what the indexer's processes report, what the last audit found, and what
//! their silence means.

use chrono::{DateTime, Utc};
use crtx_store::indexer_status::{ENDPOINT_UNUSABLE, Heartbeat, ProcessRow};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use utoipa::ToSchema;

use crate::freshness::words;

/// A process that has not reported for this long is taken to be down.
pub const SILENT_AFTER_S: i64 = 30;
/// Faults of the audit that are said one by one.
const MAX_FAULTS: usize = 5;
/// Longest text that is taken over from a report.
const MAX_TEXT: usize = 500;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StatusProblem {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
}

impl StatusProblem {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self { code: code.to_owned(), message: message.chars().take(MAX_TEXT).collect() }
    }
}

/// What the processes report, and what it means that they do not. A process that stands by reports its own problems;
/// only those of the others are about the mirror.
pub fn of_processes(processes: &[ProcessRow], heartbeat: Option<&Heartbeat>) -> Vec<StatusProblem> {
    let alive = |process: &&ProcessRow| process.silent_s <= SILENT_AFTER_S as f64;
    let leader = processes.iter().filter(alive).find(|process| process.beat.leads);
    let mut problems = Vec::new();
    match (leader, processes.iter().find(alive)) {
        (Some(leader), _) => {
            let reported = leader.beat.problems.iter().filter(|problem| problem.code != ENDPOINT_UNUSABLE);
            problems.extend(reported.map(|problem| StatusProblem::new(&problem.code, problem.message.clone())));
            if !leader.beat.streaming && problems.is_empty() {
                let text = format!("the indexer receives no changes from {}", leader.beat.source);
                problems.push(StatusProblem::new("not_streaming", text));
            }
        }
        (None, Some(_)) => {
            problems.push(StatusProblem::new("no_leader", "indexer processes run, and none of them writes the mirror"));
        }
        // A process of the version before writes the heartbeat alone.
        (None, None) => problems.extend(silence(heartbeat).map(|text| StatusProblem::new("no_indexer", text))),
    }
    problems
}

/// Endpoints that the process that writes the mirror cannot use. The mirror follows another one, or that is a problem of
/// its own.
pub fn of_endpoints(processes: &[ProcessRow]) -> Vec<StatusProblem> {
    let leader = processes.iter().find(|process| process.beat.leads && process.silent_s <= SILENT_AFTER_S as f64);
    let problems = leader.into_iter().flat_map(|leader| &leader.beat.problems);
    let unusable = problems.filter(|problem| problem.code == ENDPOINT_UNUSABLE);
    unusable.map(|problem| StatusProblem::new(&problem.code, problem.message.clone())).collect()
}

fn silence(heartbeat: Option<&Heartbeat>) -> Option<String> {
    let Some(beat) = heartbeat else { return Some("no indexer has ever reported".to_owned()) };
    let silent = Duration::try_from_secs_f64(beat.silent_s).unwrap_or_default();
    let is_silent = beat.silent_s > SILENT_AFTER_S as f64;
    is_silent.then(|| format!("no indexer has reported for {}", words(silent)))
}

/// The mirror's age, if it is too old.
pub fn of_lag(lag: Option<Duration>, allowed: Duration) -> Option<StatusProblem> {
    let lag = lag.filter(|lag| *lag > allowed)?;
    Some(StatusProblem::new("stale", format!("the newest proven state of the mirror is {} old", words(lag))))
}

pub fn of_quarantine(count: u64, example: Option<(String, String)>) -> Option<StatusProblem> {
    let (address, error) = example.filter(|_| count > 0)?;
    let text = format!("{count} accounts of the program cannot be read, for example {address}: {error}");
    Some(StatusProblem::new("unreadable_accounts", text))
}

/// What the last audit found.
pub fn of_audit(report: &Value, at: DateTime<Utc>) -> Vec<StatusProblem> {
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
    let mut problems = vec![StatusProblem::new("audit", format!("the audit of {time} found {all} faults"))];
    problems.extend(faults.iter().take(MAX_FAULTS).map(|fault| {
        let text = |member: &str| fault.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        StatusProblem::new(&format!("audit_{}", text("check")), format!("{}: {}", text("place"), text("message")))
    }));
    if let Some(corrected) = report.get("corrected").and_then(Value::as_u64).filter(|corrected| *corrected > 0) {
        let text = format!("the audit of {time} wrote {corrected} of them again as the chain has it");
        problems.push(StatusProblem::new("audit_corrected", text));
    }
    problems
}
