//! What is wrong with the mirror, in words: what the indexer's processes report, what the last audit found, and what
//! their silence means.

use chrono::{DateTime, Utc};
use crtx_store::indexer_status::{ENDPOINT_UNUSABLE, Heartbeat, Problem, ProcessRow};
use serde_json::Value;
use std::time::Duration;

use crate::freshness::words;

/// A process that has not reported for this long is taken to be down.
pub const SILENT_AFTER_S: i64 = 30;
/// Faults of the audit that are said one by one.
const MAX_FAULTS: usize = 5;
/// Longest text that is taken over from a report.
const MAX_TEXT: usize = 500;

/// Parts of messages come from nodes and from accounts.
pub fn problem(code: &str, message: impl Into<String>) -> Problem {
    let message: String = message.into();
    Problem { code: code.to_owned(), message: message.chars().take(MAX_TEXT).collect() }
}

/// What the processes report, and what it means that they do not. A process that stands by reports its own problems;
/// only those of the others are about the mirror.
pub fn of_processes(processes: &[ProcessRow], heartbeat: Option<&Heartbeat>) -> Vec<Problem> {
    let alive = |process: &&ProcessRow| process.silent_s <= SILENT_AFTER_S as f64;
    let leader = processes.iter().filter(alive).find(|process| process.leads);
    let mut problems = Vec::new();
    match (leader, processes.iter().find(alive)) {
        (Some(leader), _) => {
            let reported = leader.problems.iter().filter(|problem| problem.code != ENDPOINT_UNUSABLE);
            problems.extend(reported.cloned());
            if !leader.streaming && problems.is_empty() {
                let text = format!("the indexer receives no changes from {}", leader.source);
                problems.push(problem("not_streaming", text));
            }
        }
        (None, Some(_)) => {
            problems.push(problem("no_leader", "indexer processes run, and none of them writes the mirror"));
        }
        (None, None) => problems.extend(silence(heartbeat).map(|text| problem("no_indexer", text))),
    }
    problems
}

/// Endpoints that the process that writes the mirror cannot use. The mirror follows another one, or that is a problem of
/// its own.
pub fn of_endpoints(processes: &[ProcessRow]) -> Vec<Problem> {
    let leader = processes.iter().find(|process| process.leads && process.silent_s <= SILENT_AFTER_S as f64);
    let problems = leader.into_iter().flat_map(|leader| leader.problems.iter());
    problems.filter(|problem| problem.code == ENDPOINT_UNUSABLE).cloned().collect()
}

fn silence(heartbeat: Option<&Heartbeat>) -> Option<String> {
    let Some(beat) = heartbeat else { return Some("no indexer has ever reported".to_owned()) };
    let silent = Duration::try_from_secs_f64(beat.silent_s).unwrap_or_default();
    let is_silent = beat.silent_s > SILENT_AFTER_S as f64;
    is_silent.then(|| format!("no indexer has reported for {}", words(silent)))
}

/// The mirror's age, if it is too old.
pub fn of_lag(lag: Option<Duration>, allowed: Duration) -> Option<Problem> {
    let lag = lag.filter(|lag| *lag > allowed)?;
    Some(problem("stale", format!("the newest proven state of the mirror is {} old", words(lag))))
}

pub fn of_quarantine(count: u64, example: Option<(String, String)>) -> Option<Problem> {
    let (address, error) = example.filter(|_| count > 0)?;
    let text = format!("{count} accounts of the program cannot be read, for example {address}: {error}");
    Some(problem("unreadable_accounts", text))
}

/// What the last audit found.
pub fn of_audit(report: &Value, at: DateTime<Utc>) -> Vec<Problem> {
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
