//! Stored documents have the hash that their listing names, and what is shown of them is what they say.

use crtx_protocol::{metadata::Metadata, result_hash::ResultHash};
use crtx_store::audit::{self as store, ListedParts, StoredDocument};

use super::{
    context::{AuditError, Context},
    report::{AuditReport, CheckName},
};

/// A document has up to 256 KiB.
const DOCUMENTS_PER_PAGE: u32 = 32;
/// Documents in one audit; the next one goes on after them.
const MAX_DOCUMENTS: u64 = 20_000;

/// The document to go on after: its agent and its hash.
pub type Place = (String, Vec<u8>);

/// Compares documents, from `after` on. Returns the place to go on from the next time.
pub async fn compare(context: &Context<'_>, report: &mut AuditReport, mut after: Place) -> Result<Place, AuditError> {
    let mut documents = 0_u64;
    report.compared(CheckName::Documents, 0);
    loop {
        let page = store::documents(context.pool, &after, DOCUMENTS_PER_PAGE).await?;
        let Some(last) = page.last() else { return Ok(Place::default()) };
        after = (last.agent.clone(), last.sha256.to_vec());
        documents = documents.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        for document in &page {
            compare_one(report, document);
        }
        if documents >= MAX_DOCUMENTS || context.is_over() {
            report.cut_short(CheckName::Documents);
            return Ok(after);
        }
    }
}

fn compare_one(report: &mut AuditReport, document: &StoredDocument) {
    let place = format!("{} document {}", document.agent, hex::encode(document.sha256));
    let Some(bytes) = &document.bytes else {
        if document.lost_bytes {
            report.fault(CheckName::Documents, place, "the bytes that were fetched are gone, so nothing proves it");
        } else {
            report.unproven(CheckName::Documents);
        }
        return;
    };
    report.compared(CheckName::Documents, 1);
    if let Some(problem) = problem_of(document, bytes) {
        report.fault(CheckName::Documents, place, problem);
    }
}

fn problem_of(document: &StoredDocument, bytes: &[u8]) -> Option<String> {
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
    let ListedParts { name, tagline, tags } = document.listed.as_ref()?;
    // A listing gets the parts of its document a moment after the document is stored.
    let same = |listed: &Option<String>, part: &String| listed.as_ref().is_none_or(|listed| listed == part);
    let listed = same(name, &metadata.name)
        && same(tagline, &metadata.tagline)
        && tags.as_ref().is_none_or(|tags| *tags == metadata.tags);
    (!listed).then(|| "name, tagline or tags in lists are not as in the document".to_owned())
}
