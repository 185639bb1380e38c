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
    columns::{Count, Timestamp, Usdc},
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

/// An execution as the chain shows it to everybody.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecentExecution {
    /// Address of the on-chain record.
    record: String,
    status: ShownStatus,
    #[schema(value_type = f64)]
    cost_usdc: UsdcBase,
    initiated_at: Timestamp,
    /// null while it runs.
    #[schema(required)]
    completed_at: Option<Timestamp>,
    /// null unless a result was settled.
    #[schema(required, value_type = Option<u64>)]
    execution_time_ms: Option<Count>,
    /// The record on the chain explorer.
    on_chain_record: String,
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
            completed_executions: metrics.completed_executions,
            failed_executions: metrics.failed_executions,
            disputed_executions: metrics.disputed_executions,
            p50_execution_time_ms: metrics.p50_execution_time_ms,
            p95_execution_time_ms: metrics.p95_execution_time_ms,
            fees_usdc: metrics.fees,
        })
    });
    Ok(days.collect())
}

/// The newest executions of an agent. `link`: the explorer's URL of an account, with `{address}` in it.
pub async fn recent_executions(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    limit: u32,
    link: &str,
) -> Result<Vec<RecentExecution>, StoreError> {
    let executions = sqlx::query_as!(
        RecentExecution,
        r#"SELECT l.record AS "record!", replace($3, '{address}', l.record) AS "on_chain_record!",
                  l.status AS "status!: ShownStatus", l.cost AS "cost_usdc!: Usdc",
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
        link,
    );
    Ok(executions.fetch_all(executor).await?)
}
