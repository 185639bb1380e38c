//! Figures that are derived from many rows. What is derived from one row is a generated column: `success_rate`, `trust`
//! and `avg_execution_time_ms` of `mirror_agents`.

use sqlx::PgExecutor;

use crate::{convert::amount_from_db, error::StoreError};

/// How many accounts the mirror has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorCounts {
    pub agents: u64,
    pub executions: u64,
    pub creators: u64,
    pub disputes: u64,
    pub grants: u64,
    pub quarantined: u64,
    /// Listings without a metadata document.
    pub agents_without_metadata: u64,
}

/// Counts all rows, those of closed accounts among them.
pub async fn mirror_counts(executor: impl PgExecutor<'_>) -> Result<MirrorCounts, StoreError> {
    let row = sqlx::query!(
        r#"SELECT
               (SELECT count(*) FROM mirror_agents) AS "agents!",
               (SELECT count(*) FROM mirror_executions) AS "executions!",
               (SELECT count(*) FROM mirror_creators) AS "creators!",
               (SELECT count(*) FROM mirror_disputes) AS "disputes!",
               (SELECT count(*) FROM mirror_grants) AS "grants!",
               (SELECT count(*) FROM mirror_quarantine) AS "quarantined!",
               (SELECT count(*) FROM mirror_agents WHERE name IS NULL AND closed_at_slot IS NULL)
                   AS "agents_without_metadata!""#
    )
    .fetch_one(executor)
    .await?;
    Ok(MirrorCounts {
        agents: amount_from_db("count", row.agents)?,
        executions: amount_from_db("count", row.executions)?,
        creators: amount_from_db("count", row.creators)?,
        disputes: amount_from_db("count", row.disputes)?,
        grants: amount_from_db("count", row.grants)?,
        quarantined: amount_from_db("count", row.quarantined)?,
        agents_without_metadata: amount_from_db("count", row.agents_without_metadata)?,
    })
}
