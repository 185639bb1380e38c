//! Why a listing that exists on chain is not shown.

use agent_marketplace::state::AgentStatus;
use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    convert::{fixed_bytes, pubkey},
    error::StoreError,
};

/// A listing, shown or not, and its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingState {
    pub creator: Pubkey,
    pub status: AgentStatus,
    pub closed: bool,
    pub document: DocumentState,
}

/// What is known about the document that a listing names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentState {
    pub uri: String,
    pub sha256: [u8; 32],
    /// Fetched and checked.
    pub usable: bool,
    pub failure: Option<DocumentFailure>,
    /// Since the listing names this hash and URI.
    pub attempts: u32,
    pub last_attempt: Option<DateTime<Utc>>,
    pub next_attempt: Option<DateTime<Utc>>,
}

/// Why the last attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFailure {
    /// One of the codes of `metadata::FailureKind`.
    pub code: String,
    pub message: String,
}

/// `None`: the mirror has no listing at this address.
pub async fn listing(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<ListingState>, StoreError> {
    // A failure with another URI says nothing about this one.
    let row = sqlx::query!(
        r#"SELECT a.creator, a.status, a.closed_at_slot IS NOT NULL AS "closed!", a.metadata_uri, a.metadata_hash,
                  COALESCE(m.document IS NOT NULL, false) AS "usable!",
                  m.error AS "error?", m.error_code AS "error_code?", COALESCE(m.attempts, 0) AS "attempts!",
                  COALESCE(m.last_attempt, m.fetched_at) AS last_attempt, m.next_attempt AS "next_attempt?"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
                                     AND (m.error IS NULL OR m.uri = a.metadata_uri)
           WHERE a.address = $1"#,
        address.to_string(),
    )
    .fetch_optional(executor)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(ListingState {
        creator: pubkey("creator", &row.creator)?,
        status: agent_status(row.status)?,
        closed: row.closed,
        document: DocumentState {
            uri: row.metadata_uri,
            sha256: fixed_bytes("metadata hash", &row.metadata_hash)?,
            usable: row.usable,
            failure: failure(row.error, row.error_code),
            attempts: u32::try_from(row.attempts).map_err(|_| StoreError::corrupt("attempts", row.attempts))?,
            last_attempt: row.last_attempt,
            next_attempt: row.next_attempt,
        },
    }))
}

/// Rows that an earlier version wrote have no code.
pub(super) fn failure(message: Option<String>, code: Option<String>) -> Option<DocumentFailure> {
    let code = code.unwrap_or_else(|| "document_unavailable".to_owned());
    message.map(|message| DocumentFailure { code, message })
}

pub(super) fn agent_status(number: i16) -> Result<AgentStatus, StoreError> {
    [AgentStatus::Active, AgentStatus::Paused, AgentStatus::Delisted]
        .into_iter()
        .find(|status| number == i16::from(*status as u8))
        .ok_or_else(|| StoreError::corrupt("agent status", number))
}

/// Whether the program has an account at this address whose bytes cannot be read.
pub async fn is_quarantined(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_quarantine WHERE address = $1) AS "found!""#,
        address.to_string(),
    );
    Ok(found.fetch_one(executor).await?)
}
