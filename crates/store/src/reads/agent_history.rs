//! What an agent did day by day, and its newest executions. Only what the chain shows to everybody.

use chrono::{DateTime, NaiveDate, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use super::{
    agent_metrics::{AgentMetrics, Counters, METRICS_DAYS},
    execution_list::ShownStatus,
};
use crate::{
    convert::{amount_from_db, pubkey},
    error::StoreError,
};

/// One day (UTC) on which executions of an agent ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentDay {
    pub day: NaiveDate,
    pub metrics: AgentMetrics,
}

/// An execution as the chain shows it, without what only its caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicExecution {
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub status: ShownStatus,
    pub cost: UsdcBase,
    pub initiated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    /// `None` unless a result was settled.
    pub execution_time_ms: Option<u64>,
}

/// The last 30 days of an agent at `now`, oldest first, without those on which nothing ended.
pub async fn agent_days(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    now: DateTime<Utc>,
) -> Result<Vec<AgentDay>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT day, metric, n, LEAST(fees, 9223372036854775807)::bigint AS "fees!"
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
    rows.chunk_by(|one, next| one.day == next.day)
        .filter_map(|rows| Some((rows.first()?.day, rows)))
        .map(|(day, rows)| {
            let mut counters = Counters::default();
            for row in rows {
                counters.add(row.metric, row.n, row.fees)?;
            }
            Ok(AgentDay { day, metrics: counters.metrics() })
        })
        .collect()
}

/// The newest executions of an agent.
pub async fn recent_executions(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    limit: u32,
) -> Result<Vec<PublicExecution>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT l.record AS "record!", l.status AS "status!", l.cost AS "cost!", l.initiated_at AS "initiated_at!",
                  l.completed_at, m.execution_time_ms AS "execution_time_ms?"
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
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|row| {
            let time = row.execution_time_ms.map(|time| amount_from_db("execution time", time)).transpose()?;
            Ok(PublicExecution {
                record: pubkey("record address", &row.record)?,
                status: ShownStatus::from_db(row.status)?,
                cost: UsdcBase(amount_from_db("cost", row.cost)?),
                initiated_at: row.initiated_at,
                completed_at: row.completed_at,
                execution_time_ms: time,
            })
        })
        .collect()
}
