//! What a campaign found, as a table and as reports of violations.

use std::{fmt::Write as _, path::PathBuf, time::Duration};

use crate::{
    check::{Tally, Violation},
    notes::{Claim, Happened, NotedCall},
    plan::Kind,
};

/// Most violations of one rule that are printed; all are counted, and kept in a file.
pub const PRINTED_VIOLATIONS: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub rows: Vec<Row>,
    pub tally: Tally,
    pub violations: Vec<Violation>,
    pub took: Duration,
    /// Logs of every process.
    pub logs: PathBuf,
    /// The marketplace's data, if something was wrong.
    pub kept: Option<PathBuf>,
}

/// One kind of fault.
#[derive(Clone, Debug)]
pub struct Row {
    pub kind: Kind,
    pub times: usize,
    /// Requests that were under way during such a fault, by what came of them.
    pub completed: usize,
    pub refunded: usize,
    pub not_charged: usize,
    pub other: usize,
}

impl Report {
    pub fn new(faults: &[Happened], calls: &[NotedCall], tally: Tally, violations: Vec<Violation>) -> Self {
        let rows = Kind::ALL.into_iter().map(|kind| Row::of(kind, faults, calls)).collect();
        Self { rows, tally, violations, ..Self::default() }
    }

    /// The table, and one line about all calls.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| fault | times | requests under way | completed | refunded | nothing charged | no final answer |\n\
             |---|---:|---:|---:|---:|---:|---:|\n",
        );
        for row in &self.rows {
            let all = row.completed + row.refunded + row.not_charged + row.other;
            let _ = writeln!(
                text,
                "| {} | {} | {all} | {} | {} | {} | {} |",
                row.kind.name(),
                row.times,
                row.completed,
                row.refunded,
                row.not_charged,
                row.other
            );
        }
        let Tally { calls, requests, records, completed, refunded, good_results_refunded, verified } = self.tally;
        let _ = writeln!(
            text,
            "\n{calls} calls in {requests} requests; {records} records on chain: {completed} completed, {refunded} \
             refunded ({good_results_refunded} of them although the creator had delivered); {verified} verified; {} \
             violations; {} s",
            self.violations.len(),
            self.took.as_secs()
        );
        text
    }

    /// Every rule that was broken: how often, and the first `most` violations of each.
    pub fn violations_text(&self, most: usize) -> String {
        let mut text = String::new();
        let mut rules: Vec<&str> = self.violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        for rule in rules {
            let of_rule: Vec<_> = self.violations.iter().filter(|violation| violation.rule == rule).collect();
            let _ = writeln!(text, "VIOLATED {} times: {rule}", of_rule.len());
            for violation in of_rule.iter().take(most) {
                let _ = writeln!(text, "- {}", violation.details);
            }
        }
        text
    }
}

impl Row {
    fn of(kind: Kind, faults: &[Happened], calls: &[NotedCall]) -> Self {
        let mut row = Self { kind, times: 0, completed: 0, refunded: 0, not_charged: 0, other: 0 };
        let of_kind: Vec<_> = faults.iter().filter(|happened| happened.fault.kind == kind).collect();
        row.times = of_kind.len();
        for attempt in calls.iter().flat_map(|noted| &noted.attempts) {
            if !of_kind.iter().any(|happened| attempt.sent < happened.until && attempt.answered > happened.from) {
                continue;
            }
            match attempt.claim {
                Claim::Completed { .. } | Claim::Pending(_) | Claim::Running(_) => row.completed += 1,
                Claim::Refunded(_) | Claim::RefundUnderWay(_) => row.refunded += 1,
                Claim::NothingCharged(_) | Claim::NotCreated => row.not_charged += 1,
                Claim::Nothing => row.other += 1,
            }
        }
        row
    }
}
