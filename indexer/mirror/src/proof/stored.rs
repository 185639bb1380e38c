//! What the database has in rows without end: each kind is compared page by page, and goes on in the next audit if this
//! one had to stop.

use std::collections::HashMap;

use crtx_protocol::{metadata::Metadata, result_hash::ResultHash};
use crtx_store::{
    audit::{self as store, ClosedRow, StoredDocument},
    closings::{Closing, ClosingKind},
    execution_list::{self, ListDifference},
    mirror::{self, Batch},
};
use solana_pubkey::Pubkey;

use super::{
    audit::{Audit, AuditError},
    report::{AuditCheck, AuditReport},
};
use crate::{
    closings::{
        event::closed_accounts,
        search::{NO_HISTORY, keep},
    },
    sync,
};

/// Results of one page that are looked up in the content store.
const LOOKED_UP_PER_PAGE: usize = 5;
/// A source and its row in the list are written together, and a comparison reads them in several statements.
const LOOKS: u32 = 3;

/// A kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredKind {
    /// Closed rows have the bytes that their closing left.
    Closed(ClosingKind),
    /// Stored documents have the hash that their listing names, and what is shown of them is what they say.
    Documents,
    /// Stored results have the hash that was signed.
    Results,
    /// The list of executions is what its sources say, and its counters are what its rows say.
    Lists,
}

/// The last row that was compared of each kind that goes on in the next audit.
pub type Places = HashMap<StoredKind, String>;

/// The rows of one page, and the one after which the next page begins. `None`: nothing follows.
type ComparedPage = (u64, Option<String>);

pub async fn compare(audit: &mut Audit<'_>, places: &mut Places) -> Result<(), AuditError> {
    // The rows of one page, and of one audit.
    for (kind, check, per_page, most) in [
        (StoredKind::Closed(ClosingKind::Execution), AuditCheck::Closed, 500, 50_000),
        (StoredKind::Closed(ClosingKind::Dispute), AuditCheck::Closed, 500, 50_000),
        (StoredKind::Closed(ClosingKind::Agent), AuditCheck::Closed, 500, 50_000),
        // A document has up to 256 KiB.
        (StoredKind::Documents, AuditCheck::Documents, 32, 20_000),
        // A result has up to 1 MiB; PostgreSQL hashes them.
        (StoredKind::Results, AuditCheck::Results, 500, 100_000),
        (StoredKind::Lists, AuditCheck::Lists, 500, 50_000),
    ] {
        let (began_at, mut rows) = (places.remove(&kind).unwrap_or_default(), 0_u64);
        audit.report.compared(check, 0);
        let mut after = began_at.clone();
        loop {
            let (compared, last) = match kind {
                StoredKind::Closed(kind) => closed(audit, kind, &after, per_page).await?,
                StoredKind::Documents => documents(audit, &after, per_page).await?,
                StoredKind::Results => results(audit, &after, per_page).await?,
                StoredKind::Lists => list(audit, &after, per_page, began_at.is_empty()).await?,
            };
            let Some(last) = last else { break };
            after = last;
            rows = rows.saturating_add(compared);
            if rows >= most || audit.is_over() {
                audit.report.cut_short(check);
                places.insert(kind, after);
                break;
            }
        }
    }
    Ok(())
}

fn count<T>(rows: &[T]) -> u64 {
    u64::try_from(rows.len()).unwrap_or(u64::MAX)
}

async fn closed(
    audit: &mut Audit<'_>,
    kind: ClosingKind,
    after: &str,
    per_page: u32,
) -> Result<ComparedPage, AuditError> {
    let page = store::closed_rows(audit.pool, kind, after, per_page).await?;
    let compared = (count(&page), page.last().map(|row| row.key.clone()));
    for row in page {
        compare_closed(audit, row).await?;
    }
    Ok(compared)
}

async fn compare_closed(audit: &mut Audit<'_>, row: ClosedRow) -> Result<(), AuditError> {
    let report = &mut audit.report;
    let Some(closing) = row.closing else {
        match row.searches {
            // The search is under way, or no node can be searched.
            Some(searches) if searches == 0 || row.error.as_deref() == Some(NO_HISTORY) => {
                report.unproven(AuditCheck::Closed);
            }
            Some(_) => {
                let why = row.error.unwrap_or_default();
                report.fault(AuditCheck::Closed, row.address, format!("the row is closed, and {why}"));
            }
            None => report.fault(AuditCheck::Closed, row.address, "the row is closed, and its closing is not known"),
        }
        return Ok(());
    };
    report.compared(AuditCheck::Closed, 1);
    if let Some(problem) = problem_of_closed(&row.address, row.row, &closing)? {
        report.fault(AuditCheck::Closed, &row.address, problem);
        if audit.corrects {
            correct_closed(audit, &row.address, &closing).await?;
        }
    }
    Ok(())
}

/// How the row differs from the bytes of the closing.
fn problem_of_closed(address: &str, row: serde_json::Value, closing: &Closing) -> Result<Option<String>, AuditError> {
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
            newer.row_revision.unwrap_or_default(),
            newer.revision
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

/// Reads the closing of an account again from the chain, and makes its closed row equal to it.
async fn correct_closed(audit: &mut Audit<'_>, address: &str, closing: &Closing) -> Result<(), AuditError> {
    let Some(history) = audit.history else { return Ok(()) };
    let Ok(Some(transaction)) = history.transaction(&closing.signature).await else { return Ok(()) };
    let mut closed = closed_accounts(&transaction, &audit.program);
    closed.retain(|closed| closed.address.to_string() == address);
    if !closed.is_empty() {
        keep(audit.pool, &closed, transaction.slot, &closing.signature).await?;
        audit.report.corrected(AuditCheck::Closed, address, "its closed row");
    }
    Ok(())
}

async fn documents(audit: &mut Audit<'_>, after: &str, per_page: u32) -> Result<ComparedPage, AuditError> {
    let page = store::documents(audit.pool, after, per_page).await?;
    for document in &page {
        compare_document(&mut audit.report, document);
    }
    Ok((count(&page), page.last().map(|document| document.place.clone())))
}

fn compare_document(report: &mut AuditReport, document: &StoredDocument) {
    let place = format!("{} document {}", document.agent, hex::encode(document.sha256));
    let Some(bytes) = &document.bytes else {
        report.fault(AuditCheck::Documents, place, "the bytes that were fetched are gone, so nothing proves it");
        return;
    };
    report.compared(AuditCheck::Documents, 1);
    if let Some(problem) = problem_of_document(document, bytes) {
        report.fault(AuditCheck::Documents, place, problem);
    }
}

fn problem_of_document(document: &StoredDocument, bytes: &[u8]) -> Option<String> {
    let actual = ResultHash::of(bytes);
    if actual.0 != document.sha256 {
        return Some(format!("the stored bytes have the hash {actual}, not the one of the listing"));
    }
    let (Ok(metadata), Ok(value)) = (Metadata::parse(bytes), serde_json::from_slice::<serde_json::Value>(bytes)) else {
        return Some("the stored bytes are no metadata document".to_owned());
    };
    if value != document.document {
        return Some("the document that is shown is not the one that was fetched".to_owned());
    }
    let parts = [
        ("name", document.name == metadata.name),
        ("tagline", document.tagline == metadata.tagline),
        ("tags", document.tags == metadata.tags),
        ("endpoint", document.endpoint == metadata.endpoint),
    ];
    let altered: Vec<&str> = parts.iter().filter(|(_, same)| !same).map(|(part, _)| *part).collect();
    if !altered.is_empty() {
        return Some(format!("these parts are not as in the document: {}", altered.join(", ")));
    }
    // A listing gets the parts of its document a moment after the document is stored.
    let same = |listed: &Option<String>, part: &String| listed.as_ref().is_none_or(|listed| listed == part);
    let listed = same(&document.listed_name, &metadata.name)
        && same(&document.listed_tagline, &metadata.tagline)
        && document.listed_tags.as_ref().is_none_or(|tags| *tags == metadata.tags);
    (!listed).then(|| "name, tagline or tags in lists are not as in the document".to_owned())
}

async fn results(audit: &mut Audit<'_>, after: &str, per_page: u32) -> Result<ComparedPage, AuditError> {
    let page = store::results(audit.pool, after, per_page).await?;
    audit.report.compared(AuditCheck::Results, page.compared);
    for (record, problem) in page.wrong {
        audit.report.fault(AuditCheck::Results, record, problem);
    }
    look_up(audit, &page.paid).await;
    Ok((page.compared, page.last))
}

/// Content that does not match its name is never served, but it is lost.
async fn look_up(audit: &mut Audit<'_>, hashes: &[Vec<u8>]) {
    let Some(content) = audit.content else { return };
    let step = hashes.len().checked_div(LOOKED_UP_PER_PAGE).unwrap_or(1).max(1);
    for hash in hashes.iter().step_by(step).take(LOOKED_UP_PER_PAGE) {
        let Ok(hash) = <[u8; 32]>::try_from(hash.as_slice()).map(ResultHash) else { continue };
        match content.is_damaged(&hash).await {
            Ok(false) => {}
            Ok(true) => {
                let text = "the content store has other bytes under this hash";
                audit.report.fault(AuditCheck::Results, hash, text);
            }
            Err(error) => {
                tracing::debug!(%error, "the content store could not be read");
                audit.report.unproven(AuditCheck::Results);
            }
        }
    }
}

/// `whole`: this audit compares the list from its first row on.
async fn list(audit: &mut Audit<'_>, after: &str, per_page: u32, whole: bool) -> Result<ComparedPage, AuditError> {
    let mut found = execution_list::compare(audit.pool, after, per_page).await?;
    for _ in 1..LOOKS {
        if found.differences.is_empty() {
            break;
        }
        audit.wait().await;
        found = execution_list::compare(audit.pool, after, per_page).await?;
    }
    audit.report.compared(AuditCheck::Lists, found.rows.saturating_add(found.counters));
    let mut records = Vec::new();
    for difference in found.differences {
        match difference {
            ListDifference::Row { record, columns } => {
                let text = if columns.is_empty() {
                    "the list has a row without an execution, or an execution has no row".to_owned()
                } else {
                    format!("its row in the list of executions differs in: {}", columns.join(", "))
                };
                audit.report.fault(AuditCheck::Lists, &record, text);
                records.push(record);
            }
            ListDifference::Counters { owner, agent, .. } => {
                let text = "a counter of the list of executions is not the number of its rows";
                audit.report.fault(AuditCheck::Lists, format!("{owner} {agent}").trim(), text);
                audit.wrong_counters = true;
            }
        }
    }
    if audit.corrects && !records.is_empty() {
        execution_list::rewrite(audit.pool, &records).await?;
        records.iter().for_each(|record| audit.report.corrected(AuditCheck::Lists, record, "its row in the list"));
    }
    // All counters are made again if the list was compared as a whole, because then it is not large.
    if found.next.is_none() && whole && audit.corrects && audit.wrong_counters {
        match execution_list::rebuild(audit.pool).await {
            Ok(()) => {
                audit.report.corrected(AuditCheck::Lists, "mirror", "the list of executions and its counters");
            }
            Err(error) => tracing::warn!(cause = %error, "the list of executions could not be made again"),
        }
    }
    Ok((found.rows, found.next))
}
