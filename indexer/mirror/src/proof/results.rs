//! Stored results have the hash that was signed: those in the database, and those in the content store.

use crtx_protocol::result_hash::ResultHash;
use crtx_store::audit::{self as store};

use super::{
    context::{AuditError, Context},
    report::{AuditReport, CheckName},
};

/// A result has up to 1 MiB; PostgreSQL hashes them.
const RESULTS_PER_PAGE: u32 = 500;
/// Results in one audit; the next one goes on after them.
const MAX_RESULTS: u64 = 100_000;
/// Results of one page that are looked up in the content store.
const LOOKED_UP_PER_PAGE: usize = 5;

/// Compares results, from the record `after` on. Returns the record to go on from the next time.
pub async fn compare(context: &Context<'_>, report: &mut AuditReport, after: &str) -> Result<String, AuditError> {
    let (mut after, mut results) = (after.to_owned(), 0_u64);
    report.compared(CheckName::Results, 0);
    loop {
        let page = store::results(context.pool, &after, RESULTS_PER_PAGE).await?;
        let Some(last) = page.last else { return Ok(String::new()) };
        after = last;
        results = results.saturating_add(page.compared);
        report.compared(CheckName::Results, page.compared);
        for (record, problem) in page.wrong {
            report.fault(CheckName::Results, record, problem);
        }
        look_up(context, report, &page.paid).await;
        if results >= MAX_RESULTS || context.is_over() {
            report.cut_short(CheckName::Results);
            return Ok(after);
        }
    }
}

/// Content that does not match its name is never served, but it is lost.
async fn look_up(context: &Context<'_>, report: &mut AuditReport, hashes: &[Vec<u8>]) {
    let Some(content) = context.content else { return };
    let step = hashes.len().checked_div(LOOKED_UP_PER_PAGE).unwrap_or(1).max(1);
    for hash in hashes.iter().step_by(step).take(LOOKED_UP_PER_PAGE) {
        let Ok(hash) = <[u8; 32]>::try_from(hash.as_slice()).map(ResultHash) else { continue };
        match content.is_damaged(&hash).await {
            Ok(false) => {}
            Ok(true) => {
                let text = "the content store has other bytes under this hash";
                report.fault(CheckName::Results, hash, text);
            }
            Err(error) => {
                tracing::debug!(%error, "the content store could not be read");
                report.unproven(CheckName::Results);
            }
        }
    }
}
