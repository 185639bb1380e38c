//! Why a listing is not shown, or not in lists, in a code and in words.

use chrono::SecondsFormat;
use crtx_protocol::text::{printable, shortened};
use crtx_store::reads::{ListingState, ListingStatus, OwnedAgent, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// Longest part of a message that a stranger wrote, in characters.
const MAX_FOREIGN_CHARS: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListingReasonCode {
    /// The creator has paused it: it is shown by its id, and not in lists.
    Paused,
    /// The creator has delisted it.
    Delisted,
    /// Its account is closed.
    Closed,
    /// The bytes of its account cannot be decoded.
    AccountUnreadable,
    /// Its metadata document was not fetched yet.
    DocumentPending,
    /// Nobody delivered its metadata document.
    DocumentUnavailable,
    /// The bytes at its URI have another SHA-256 than the listing names.
    DocumentMismatch,
    /// Its metadata document has the right SHA-256, but no call could be made by it.
    DocumentInvalid,
}

/// Why a listing is not shown, or not in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ListingReason {
    pub code: ListingReasonCode,
    /// For people; do not parse it.
    pub message: String,
}

impl ListingReason {
    fn new(code: ListingReasonCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn unreadable() -> Self {
        let message = "the bytes of its account cannot be decoded by this version of the index";
        Self::new(ListingReasonCode::AccountUnreadable, message)
    }

    /// The same for an agent in the list of its creator.
    pub fn of_owned(agent: &OwnedAgent) -> Option<Self> {
        match agent.status {
            ListingStatus::Delisted => Some(Self::delisted()),
            _ if agent.name.is_none() => Some(Self::of_document(agent.error.as_deref(), agent.error_code.as_deref())),
            ListingStatus::Paused => Some(Self::paused()),
            ListingStatus::Active => None,
        }
    }

    fn delisted() -> Self {
        Self::new(ListingReasonCode::Delisted, "its creator has delisted it")
    }

    fn paused() -> Self {
        Self::new(ListingReasonCode::Paused, "its creator has paused it")
    }

    /// `None`: it is shown and in lists.
    pub fn of(listing: &ListingState) -> Option<Self> {
        if listing.closed {
            return Some(Self::new(ListingReasonCode::Closed, "its account is closed"));
        }
        if listing.status == ListingStatus::Delisted {
            return Some(Self::delisted());
        }
        if !listing.usable {
            let reason = Self::of_document(listing.error.as_deref(), listing.error_code.as_deref());
            let uri = shortened(&printable(&listing.uri), MAX_FOREIGN_CHARS);
            let next = listing.next_attempt.map(next_attempt).unwrap_or_default();
            return Some(Self { message: format!("{} (URI: {uri}){next}", reason.message), ..reason });
        }
        (listing.status == ListingStatus::Paused).then(Self::paused)
    }

    /// Why the document cannot be used. Rows that an earlier version wrote have no code.
    fn of_document(failure: Option<&str>, code: Option<&str>) -> Self {
        let Some(failure) = failure else {
            return Self::new(ListingReasonCode::DocumentPending, "its metadata document was not fetched yet");
        };
        let (code, problem) = match code {
            Some("document_mismatch") => (ListingReasonCode::DocumentMismatch, "is another one"),
            Some("document_invalid") => (ListingReasonCode::DocumentInvalid, "cannot be used"),
            _ => (ListingReasonCode::DocumentUnavailable, "could not be fetched"),
        };
        let failure = shortened(&printable(failure), MAX_FOREIGN_CHARS);
        Self::new(code, format!("its metadata document {problem}: {failure}"))
    }
}

fn next_attempt(Timestamp(time): Timestamp) -> String {
    let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    format!("; next attempt at {time}, or when the listing changes")
}
