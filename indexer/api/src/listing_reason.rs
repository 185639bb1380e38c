//! Why a listing is not shown, or not in lists, in a code and in words.

use agent_marketplace::state::AgentStatus;
use chrono::{DateTime, SecondsFormat, Utc};
use crtx_protocol::text::{printable, shortened};
use crtx_store::reads::{DocumentFailure, ListingState, OwnedAgent};
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
            AgentStatus::Delisted => Some(Self::delisted()),
            _ if agent.name.is_none() => Some(Self::of_document(agent.document_failure.as_ref())),
            AgentStatus::Paused => Some(Self::paused()),
            AgentStatus::Active => None,
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
        if listing.status == AgentStatus::Delisted {
            return Some(Self::delisted());
        }
        if !listing.document.usable {
            let reason = Self::of_document(listing.document.failure.as_ref());
            let uri = shortened(&printable(&listing.document.uri), MAX_FOREIGN_CHARS);
            let next = listing.document.next_attempt.map(next_attempt).unwrap_or_default();
            return Some(Self { message: format!("{} (URI: {uri}){next}", reason.message), ..reason });
        }
        (listing.status == AgentStatus::Paused).then(Self::paused)
    }

    /// Why the document cannot be used.
    fn of_document(failure: Option<&DocumentFailure>) -> Self {
        let Some(DocumentFailure { code, message }) = failure else {
            return Self::new(ListingReasonCode::DocumentPending, "its metadata document was not fetched yet");
        };
        let message = shortened(&printable(message), MAX_FOREIGN_CHARS);
        match code.as_str() {
            "document_mismatch" => {
                let message = format!("its metadata document is another one: {message}");
                Self::new(ListingReasonCode::DocumentMismatch, message)
            }
            "document_invalid" => {
                let message = format!("its metadata document cannot be used: {message}");
                Self::new(ListingReasonCode::DocumentInvalid, message)
            }
            _ => {
                let message = format!("its metadata document could not be fetched: {message}");
                Self::new(ListingReasonCode::DocumentUnavailable, message)
            }
        }
    }
}

fn next_attempt(time: DateTime<Utc>) -> String {
    let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    format!("; next attempt at {time}, or when the listing changes")
}
