//! How many accounts the mirror has, and those that cannot be read.

use serde::Serialize;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use crate::{Result, columns::Count};

/// Accounts whose bytes cannot be read: their number, and one of them with the reason.
pub async fn quarantined(db: impl PgExecutor<'_>) -> Result<(u64, Option<(String, String)>)> {
    let row = sqlx::query!(
        r#"SELECT count(*) AS "count!: Count", min(address) AS address,
                  (SELECT error FROM mirror_quarantine ORDER BY address LIMIT 1) AS error
           FROM mirror_quarantine"#
    );
    let row = row.fetch_one(db).await?;
    Ok((row.count.into(), row.address.zip(row.error)))
}

// How many accounts the mirror has, closed ones among them.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct MirrorCounts {
    pub agents: u64,
    /// Listings without a metadata document; they are not shown.
    pub agents_without_metadata: u64,
    pub creators: u64,
    pub executions: u64,
    pub disputes: u64,
    pub grants: u64,
}

pub async fn mirror_counts(db: impl PgExecutor<'_>) -> Result<MirrorCounts> {
    let counts = sqlx::query_as!(
        MirrorCounts,
        r#"SELECT
               (SELECT count(*) FROM mirror_agents) AS "agents!: Count",
               (SELECT count(*) FROM mirror_agents WHERE name IS NULL AND closed_at_slot IS NULL)
                   AS "agents_without_metadata!: Count",
               (SELECT count(*) FROM mirror_creators) AS "creators!: Count",
               (SELECT count(*) FROM mirror_executions) AS "executions!: Count",
               (SELECT count(*) FROM mirror_disputes) AS "disputes!: Count",
               (SELECT count(*) FROM mirror_grants) AS "grants!: Count""#
    );
    Ok(counts.fetch_one(db).await?)
}
