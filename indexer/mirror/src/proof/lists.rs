//! The list of executions is what its sources say, and its counters are what its rows say.

use crtx_store::execution_list::{self, ListDifference};

use super::{
    context::{AuditError, Context},
    corrections,
    report::{AuditReport, CheckName},
};

/// Records that are compared together.
const RECORDS_PER_PAGE: u32 = 500;
/// Records in one audit; the next one goes on after them.
const MAX_RECORDS: u64 = 50_000;
/// A source and its row are written together, and a comparison reads them in several statements.
const LOOKS: u32 = 3;

/// Compares records, from `after` on. Returns the record to go on from the next time.
pub async fn compare(context: &Context<'_>, report: &mut AuditReport, after: &str) -> Result<String, AuditError> {
    let from_the_start = after.is_empty();
    let (mut after, mut records) = (after.to_owned(), 0_u64);
    let mut wrong_counters = Vec::new();
    report.compared(CheckName::Lists, 0);
    loop {
        let mut found = execution_list::compare(context.pool, &after, RECORDS_PER_PAGE).await?;
        for _ in 1..LOOKS {
            if found.differences.is_empty() {
                break;
            }
            tokio::time::sleep(context.pause).await;
            found = execution_list::compare(context.pool, &after, RECORDS_PER_PAGE).await?;
        }
        report.compared(CheckName::Lists, found.rows.saturating_add(found.counters));
        records = records.saturating_add(found.rows);
        found.differences.iter().for_each(|difference| note(report, difference));
        let (rows, counters): (Vec<_>, Vec<_>) =
            found.differences.into_iter().partition(|difference| matches!(difference, ListDifference::Row { .. }));
        corrections::list(context, report, &rows, false).await?;
        wrong_counters.extend(counters);
        let Some(next) = found.next else {
            corrections::list(context, report, &wrong_counters, from_the_start).await?;
            return Ok(String::new());
        };
        after = next;
        if records >= MAX_RECORDS || context.is_over() {
            report.cut_short(CheckName::Lists);
            return Ok(after);
        }
    }
}

fn note(report: &mut AuditReport, difference: &ListDifference) {
    let (place, text) = match difference {
        ListDifference::Row { record, columns } if columns.is_empty() => {
            (record.clone(), "the list has a row without an execution, or an execution has no row".to_owned())
        }
        ListDifference::Row { record, columns } => {
            (record.clone(), format!("its row in the list of executions differs in: {}", columns.join(", ")))
        }
        ListDifference::Counters { owner, agent, .. } => {
            (format!("{owner} {agent}"), "a counter of the list of executions is not the number of its rows".to_owned())
        }
    };
    report.fault(CheckName::Lists, place.trim(), text);
}
