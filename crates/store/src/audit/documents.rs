//! Stored documents, as they were fetched and as they are shown.

use serde_json::Value;
use sqlx::PgExecutor;

use crate::error::StoreError;

/// A document, and the copies of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    /// Its agent and its hash, for the page after it.
    pub place: String,
    pub agent: String,
    pub sha256: [u8; 32],
    /// `None` if it was fetched before its bytes were kept.
    pub bytes: Option<Vec<u8>>,
    /// Its bytes were kept, and somebody removed them.
    pub lost_bytes: bool,
    pub document: Value,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    pub endpoint: String,
    /// Name, tagline and tags in the listing's row, if the listing names this document.
    pub listed: Option<ListedParts>,
}

/// Null until the document is copied into the listing's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedParts {
    pub name: Option<String>,
    pub tagline: Option<String>,
    pub tags: Option<Vec<String>>,
}

/// Documents after the place `after`, in the order of agents and hashes. Those of closed listings, of which only the name
/// is left, are left out.
pub async fn documents(
    executor: impl PgExecutor<'_>,
    after: &str,
    limit: u32,
) -> Result<Vec<StoredDocument>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT d.agent || ' ' || encode(d.sha256, 'hex') AS "place!", d.agent, d.sha256 AS "sha256: [u8; 32]", d.bytes,
                  d.bytes IS NULL AND NOT d.has_no_bytes AND d.fetched_at < now() - interval '1 minute'
                      AS "lost_bytes!", d.document AS "document!", d.name AS "name!", d.tagline AS "tagline!",
                  d.tags AS "tags!", d.endpoint AS "endpoint!", a.address AS "listing?", a.name AS "listed_name?",
                  a.tagline AS "listed_tagline?", a.tags AS "listed_tags?"
           FROM agent_metadata d
           LEFT JOIN mirror_agents a ON a.address = d.agent AND a.metadata_hash = d.sha256
           WHERE d.error IS NULL AND NOT (d.has_no_bytes AND d.document = '{}') 
             AND (d.agent, d.sha256) > (split_part($1, ' ', 1), decode(split_part($1, ' ', 2), 'hex'))
           ORDER BY d.agent, d.sha256 LIMIT $2"#,
        after,
        i64::from(limit),
    );
    let documents = rows.fetch_all(executor).await?.into_iter().map(|row| StoredDocument {
        place: row.place,
        agent: row.agent,
        sha256: row.sha256,
        bytes: row.bytes,
        lost_bytes: row.lost_bytes,
        document: row.document,
        name: row.name,
        tagline: row.tagline,
        tags: row.tags,
        endpoint: row.endpoint,
        listed: row.listing.map(|_| ListedParts {
            name: row.listed_name,
            tagline: row.listed_tagline,
            tags: row.listed_tags,
        }),
    });
    Ok(documents.collect())
}
