//! What an agent did day by day, and its newest executions. Only what the chain shows to everybody.

use chrono::{DateTime, NaiveDate, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use super::{
    agent_metrics::{METRICS_DAYS, metrics},
    execution_list::ShownStatus,
};
use crate::{
    columns::{Base58, Count, Timestamp, Usdc},
    error::StoreError,
};

/// One day (UTC). Days on which no execution ended are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AgentDayResponse)]
pub struct AgentDay {
    #[schema(value_type = String, format = Date, example = "2026-11-21")]
    day: NaiveDate,
    completed_executions: u64,
    failed_executions: u64,
    disputed_executions: u64,
    /// Within 2.5 %. null if none was completed.
    #[schema(required)]
    p50_execution_time_ms: Option<u64>,
    /// Within 2.5 %. null if none was completed.
    #[schema(required)]
    p95_execution_time_ms: Option<u64>,
    /// Platform fees of the day's completed executions.
    #[schema(value_type = f64)]
    fees_usdc: UsdcBase,
}

/// An execution as the chain shows it, without what only its caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicExecution {
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub status: ShownStatus,
    pub cost: UsdcBase,
    pub initiated_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    /// `None` unless a result was settled.
    pub execution_time_ms: Option<Count>,
}

/// The last 30 days of an agent at `now`, oldest first, without those on which nothing ended.
pub async fn agent_days(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    now: DateTime<Utc>,
) -> Result<Vec<AgentDay>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT day, metric, n AS "n: Count", LEAST(fees, 9223372036854775807)::bigint AS "fees!: Usdc"
           FROM agent_days
           WHERE agent = $1 AND n > 0 AND day > ($2::timestamptz AT TIME ZONE 'UTC')::date - $3::integer
             AND day <= ($2::timestamptz AT TIME ZONE 'UTC')::date
           ORDER BY day, metric"#,
        agent.to_string(),
        now,
        METRICS_DAYS,
    )
    .fetch_all(executor)
    .await?;
    let days = rows.chunk_by(|one, next| one.day == next.day).filter_map(|rows| {
        let metrics = metrics(rows.iter().map(|row| (row.metric, row.n.into(), row.fees.into())));
        Some(AgentDay {
            day: rows.first()?.day,
            completed_executions: metrics.completed_30d,
            failed_executions: metrics.failed_30d,
            disputed_executions: metrics.disputed_30d,
            p50_execution_time_ms: metrics.p50_execution_time_ms,
            p95_execution_time_ms: metrics.p95_execution_time_ms,
            fees_usdc: metrics.fees_30d,
        })
    });
    Ok(days.collect())
}

/// The newest executions of an agent.
pub async fn recent_executions(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    limit: u32,
) -> Result<Vec<PublicExecution>, StoreError> {
    let executions = sqlx::query_as!(
        PublicExecution,
        r#"SELECT l.record AS "record!: Base58", l.status AS "status!: ShownStatus", l.cost AS "cost!: Usdc",
                  l.initiated_at AS "initiated_at!: Timestamp", l.completed_at AS "completed_at?: Timestamp",
                  m.execution_time_ms AS "execution_time_ms?: Count"
           FROM generate_series(0, 4) AS s (status)
           CROSS JOIN LATERAL (
               SELECT e.record, e.execution_id, e.status, e.cost, e.initiated_at, e.completed_at
               FROM execution_list e
               WHERE e.agent = $1 AND e.status = s.status::smallint AND e.on_chain
               ORDER BY e.initiated_at DESC, e.execution_id DESC, e.record DESC
               LIMIT $2) AS l
           LEFT JOIN mirror_executions m ON m.address = l.record AND m.result_hash IS NOT NULL
           ORDER BY l.initiated_at DESC, l.execution_id DESC, l.record DESC
           LIMIT $2"#,
        agent.to_string(),
        i64::from(limit),
    );
    Ok(executions.fetch_all(executor).await?)
}
