//! Why a listing that exists on chain is not shown.

use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use super::agents::ListingStatus;
use crate::{columns::Timestamp, error::StoreError};

/// A listing, shown or not, and what is known about the document that it names.
#[derive(Clone, Debug)]
pub struct ListingState {
    pub status: ListingStatus,
    pub closed: bool,
    pub uri: String,
    pub sha256: [u8; 32],
    /// Fetched and checked.
    pub usable: bool,
    /// Why the last attempt failed, and one of the codes of `metadata::FailureKind`.
    pub error: Option<String>,
    pub error_code: Option<String>,
    /// Since the listing names this hash and URI.
    pub attempts: i32,
    pub last_attempt: Option<Timestamp>,
    pub next_attempt: Option<Timestamp>,
}

/// `None`: the mirror has no listing at this address.
pub async fn listing(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<ListingState>, StoreError> {
    // A failure with another URI says nothing about this one.
    let listing = sqlx::query_as!(
        ListingState,
        r#"SELECT a.status AS "status!: ListingStatus", a.closed_at_slot IS NOT NULL AS "closed!", a.metadata_uri AS uri,
                  a.metadata_hash AS "sha256!: [u8; 32]", COALESCE(m.document IS NOT NULL, false) AS "usable!",
                  m.error AS "error?", m.error_code AS "error_code?", COALESCE(m.attempts, 0) AS "attempts!",
                  COALESCE(m.last_attempt, m.fetched_at) AS "last_attempt?: Timestamp",
                  m.next_attempt AS "next_attempt?: Timestamp"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
                                     AND (m.error IS NULL OR m.uri = a.metadata_uri)
           WHERE a.address = $1"#,
        address.to_string(),
    );
    Ok(listing.fetch_optional(executor).await?)
}

/// Whether the program has an account at this address whose bytes cannot be read.
pub async fn is_quarantined(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_quarantine WHERE address = $1) AS "found!""#,
        address.to_string(),
    );
    Ok(found.fetch_one(executor).await?)
}
