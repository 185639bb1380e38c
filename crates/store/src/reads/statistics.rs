//! Figures that are derived from many rows. What is derived from one row is a generated column: `success_rate`, `trust`
//! and `avg_execution_time_ms` of `mirror_agents`.

use serde::Serialize;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use crate::{columns::Count, error::StoreError};

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

pub async fn mirror_counts(executor: impl PgExecutor<'_>) -> Result<MirrorCounts, StoreError> {
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
    Ok(counts.fetch_one(executor).await?)
}
