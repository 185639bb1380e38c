//! Why a listing that exists on chain is not shown, or not in lists.

use chrono::SecondsFormat;
use crtx_protocol::text::{printable, shortened};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use super::agents::ListingStatus;
use crate::{Result, columns::Timestamp};

/// Longest part of a message that a stranger wrote, in characters.
const MAX_FOREIGN_CHARS: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListingReason {
    pub code: ListingReasonCode,
    /// For people; do not parse it.
    pub message: String,
}

/// What this index knows about the metadata document of a listing.
// And of the listing, shown or not.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ListingDocument)]
pub struct ListingState {
    #[serde(skip)]
    pub status: ListingStatus,
    #[serde(skip)]
    pub closed: bool,
    /// As on chain, with a replacement character for each control character.
    pub uri: String,
    pub sha256: String,
    /// Whether it was fetched and checked.
    pub usable: bool,
    /// Why the last attempt failed, and one of the codes of `metadata::FailureKind`.
    #[serde(skip)]
    pub error: Option<String>,
    #[serde(skip)]
    pub error_code: Option<String>,
    /// Attempts to fetch it since the listing names this hash and URI.
    #[schema(value_type = u32)]
    pub attempts: i32,
    /// null before the first.
    #[schema(required)]
    pub last_attempt_at: Option<Timestamp>,
    /// null before the first attempt, and if it is usable. A change of the listing is followed at once.
    #[schema(required)]
    pub next_attempt_at: Option<Timestamp>,
}

impl ListingReason {
    fn new(code: ListingReasonCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn unreadable() -> Self {
        let message = "the bytes of its account cannot be decoded by this version of the index";
        Self::new(ListingReasonCode::AccountUnreadable, message)
    }

    /// `None`: an open listing that is in lists. `usable`: whether its document is.
    pub(super) fn of(
        status: ListingStatus,
        usable: bool,
        failure: Option<&str>,
        failure_code: Option<&str>,
    ) -> Option<Self> {
        match status {
            ListingStatus::Delisted => Some(Self::new(ListingReasonCode::Delisted, "its creator has delisted it")),
            _ if !usable => Some(Self::of_document(failure, failure_code)),
            ListingStatus::Paused => Some(Self::new(ListingReasonCode::Paused, "its creator has paused it")),
            ListingStatus::Active => None,
        }
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

impl ListingState {
    /// `None`: it is shown and in lists.
    pub fn reason(&self) -> Option<ListingReason> {
        if self.closed {
            return Some(ListingReason::new(ListingReasonCode::Closed, "its account is closed"));
        }
        let reason = ListingReason::of(self.status, self.usable, self.error.as_deref(), self.error_code.as_deref())?;
        if self.usable || self.status == ListingStatus::Delisted {
            return Some(reason);
        }
        let next = self.next_attempt_at.map(|Timestamp(time)| {
            let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
            format!("; next attempt at {time}, or when the listing changes")
        });
        let (uri, next) = (shortened(&self.uri, MAX_FOREIGN_CHARS), next.unwrap_or_default());
        Some(ListingReason { message: format!("{} (URI: {uri}){next}", reason.message), ..reason })
    }
}

/// `None`: the mirror has no listing at this address.
pub async fn listing(db: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<ListingState>> {
    // A failure with another URI says nothing about this one.
    let listing = sqlx::query_as!(
        ListingState,
        r#"SELECT a.status AS "status!: ListingStatus", a.closed_at_slot IS NOT NULL AS "closed!", a.metadata_uri AS uri,
                  'sha256:' || encode(a.metadata_hash, 'hex') AS "sha256!",
                  COALESCE(m.document IS NOT NULL, false) AS "usable!",
                  m.error AS "error?", m.error_code AS "error_code?", COALESCE(m.attempts, 0) AS "attempts!",
                  COALESCE(m.last_attempt, m.fetched_at) AS "last_attempt_at?: Timestamp",
                  m.next_attempt AS "next_attempt_at?: Timestamp"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
                                     AND (m.error IS NULL OR m.uri = a.metadata_uri)
           WHERE a.address = $1"#,
        address.to_string(),
    );
    let listing = listing.fetch_optional(db).await?;
    Ok(listing.map(|listing| ListingState { uri: printable(&listing.uri), ..listing }))
}

/// Whether the program has an account at this address whose bytes cannot be read.
pub async fn is_quarantined(db: impl PgExecutor<'_>, address: &Pubkey) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_quarantine WHERE address = $1) AS "found!""#,
        address.to_string(),
    );
    Ok(found.fetch_one(db).await?)
}
