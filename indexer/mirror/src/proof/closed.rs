//! Closed rows have the bytes that their closing left, and the chain still says the same about the closing.

use crtx_store::{
    audit::{self as store, ClosedRow, Keys},
    closings::{self, Closing, ClosingKind},
    mirror::{self, Batch},
};
use solana_pubkey::Pubkey;

use super::{
    context::{AuditError, Context},
    corrections,
    report::{AuditReport, CheckName, MAX_LISTED},
};
use crate::{closings::event::closed_accounts, closings::search::NO_HISTORY, sync};

const ROWS_PER_PAGE: u32 = 500;
/// Closed rows of one kind in one audit; the next one goes on after them.
const MAX_ROWS: u64 = 50_000;
/// Closings that are read again from the chain.
const SAMPLE: u32 = 20;

/// Compares closed rows of one kind, from the address `after` on. Returns the address to go on from the next time.
pub async fn compare(
    context: &Context<'_>,
    report: &mut AuditReport,
    kind: ClosingKind,
    after: &str,
) -> Result<String, AuditError> {
    let (mut after, mut rows) = (after.to_owned(), 0_u64);
    report.compared(CheckName::Closed, 0);
    loop {
        let keys = Keys { after: &after, limit: ROWS_PER_PAGE };
        let page = store::closed_rows(context.pool, kind, keys).await?;
        let Some(last) = page.last() else { return Ok(String::new()) };
        after.clone_from(&last.address);
        rows = rows.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        for row in page {
            compare_one(context, report, row).await?;
        }
        if rows >= MAX_ROWS || context.is_over() {
            report.cut_short(CheckName::Closed);
            return Ok(after);
        }
    }
}

async fn compare_one(context: &Context<'_>, report: &mut AuditReport, row: ClosedRow) -> Result<(), AuditError> {
    let Some(closing) = row.closing else {
        match row.search {
            // The search is under way, or no node can be searched.
            Some(search) if search.attempts == 0 || search.error.as_deref() == Some(NO_HISTORY) => {
                report.unproven(CheckName::Closed);
            }
            Some(search) => {
                let why = search.error.unwrap_or_default();
                report.fault(CheckName::Closed, row.address, format!("the row is closed, and {why}"));
            }
            None => {
                report.fault(CheckName::Closed, row.address, "the row is closed, and its closing is not known");
            }
        }
        return Ok(());
    };
    report.compared(CheckName::Closed, 1);
    if let Some(problem) = problem_of(&row.address, row.row, &closing)? {
        report.fault(CheckName::Closed, &row.address, problem);
        corrections::closed_row(context, report, &row.address, &closing).await?;
    }
    Ok(())
}

/// How the row differs from the bytes of the closing.
fn problem_of(address: &str, row: serde_json::Value, closing: &Closing) -> Result<Option<String>, AuditError> {
    let Ok(key) = address.parse::<Pubkey>() else { return Ok(Some("it is no address".to_owned())) };
    let mut batch = Batch::default();
    sync::push(&mut batch, &key, closing.slot, closing.data.clone())?;
    let found = mirror::compare_with(&batch, vec![row])?;
    let transaction = &closing.signature;
    if found.equal > 0 {
        return Ok(None);
    }
    if let Some(newer) = found.newer.first() {
        return Ok(Some(format!(
            "the closed row has revision {}, the transaction {transaction} closed the account with {}",
            newer.row_revision, newer.revision
        )));
    }
    Ok(Some(match found.differences.first() {
        Some(difference) => format!(
            "the closed row differs from the bytes in the transaction {transaction} in: {}",
            difference.columns.join(", ")
        ),
        None => format!("the stored bytes of the transaction {transaction} cannot be decoded"),
    }))
}

/// Closings without a row, and closed rows of kinds that nobody can close.
pub async fn find_orphans(context: &Context<'_>, report: &mut AuditReport) -> Result<(), AuditError> {
    let most = u32::try_from(MAX_LISTED).unwrap_or(u32::MAX);
    let (all, listed) = store::closings_without_row(context.pool, most).await?;
    let more = all.saturating_sub(u64::try_from(listed.len()).unwrap_or(u64::MAX));
    for (address, problem) in listed {
        report.fault(CheckName::Closed, address, problem);
    }
    report.more_faults(CheckName::Closed, more);
    Ok(())
}

/// Reads a few closings again from the chain, because who changes a row can also change its stored closing.
pub async fn ask_chain(context: &Context<'_>, report: &mut AuditReport) -> Result<(), AuditError> {
    let Some(history) = context.history else { return Ok(()) };
    for (address, closing) in closings::sample(context.pool, SAMPLE).await? {
        match history.transaction(&closing.signature).await {
            Ok(Some(transaction)) => {
                report.compared(CheckName::Closings, 1);
                let same = closed_accounts(&transaction, &context.program)
                    .into_iter()
                    .any(|closed| closed.address == address && closed.data == closing.data);
                if !same {
                    let text = format!("the transaction {} does not close it with the stored bytes", closing.signature);
                    report.fault(CheckName::Closings, address, text);
                }
            }
            // Many nodes keep only recent transactions.
            Ok(None) => report.unproven(CheckName::Closings),
            Err(error) => {
                tracing::debug!(%error, "a closing could not be read again");
                report.unproven(CheckName::Closings);
            }
        }
        if context.is_over() {
            report.cut_short(CheckName::Closings);
            break;
        }
    }
    Ok(())
}
