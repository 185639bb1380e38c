//! What was paid day by day: in the whole market (`market_days`) and to one creator (`agent_days`).
//!
//! The counters change at most a second after the records: they are folded like those of lists.

use chrono::{DateTime, NaiveDate, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use super::agent_metrics::METRICS_DAYS;
use crate::{
    columns::{Count, Usdc},
    error::StoreError,
};

/// One day (UTC). Days on which no execution ended are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = MarketDayResponse)]
pub struct MarketDay {
    #[schema(value_type = String, format = Date, example = "2026-11-21")]
    day: NaiveDate,
    pub completed_executions: u64,
    failed_executions: u64,
    disputed_executions: u64,
    /// What callers paid for the day's completed executions.
    #[schema(value_type = f64)]
    pub volume_usdc: UsdcBase,
    /// Platform fees among it.
    #[schema(value_type = f64)]
    pub fees_usdc: UsdcBase,
}

/// One day (UTC) of a creator's agents. Days on which no execution ended are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CreatorDayResponse)]
pub struct CreatorDay {
    #[schema(value_type = String, format = Date, example = "2026-11-21")]
    day: NaiveDate,
    pub completed_executions: u64,
    failed_executions: u64,
    disputed_executions: u64,
    /// What the creator received for the day's completed executions. What a dispute took back later is not subtracted.
    #[schema(value_type = f64)]
    pub earned_usdc: UsdcBase,
    /// Platform fees of the same executions.
    #[schema(value_type = f64)]
    pub fees_usdc: UsdcBase,
}

/// The last 30 days of the market at `now`, oldest first, without those on which nothing ended.
pub async fn market_history(executor: impl PgExecutor<'_>, now: DateTime<Utc>) -> Result<Vec<MarketDay>, StoreError> {
    let days = sqlx::query_as!(
        MarketDay,
        r#"SELECT day, completed AS "completed_executions: Count", failed AS "failed_executions: Count",
                  disputed AS "disputed_executions: Count",
                  LEAST(earned + fees, 9223372036854775807)::bigint AS "volume_usdc!: Usdc",
                  LEAST(fees, 9223372036854775807)::bigint AS "fees_usdc!: Usdc"
           FROM market_days
           WHERE day > ($1::timestamptz AT TIME ZONE 'UTC')::date - $2::integer
             AND day <= ($1::timestamptz AT TIME ZONE 'UTC')::date AND completed + failed > 0
           ORDER BY day"#,
        now,
        METRICS_DAYS,
    );
    Ok(days.fetch_all(executor).await?)
}

/// The same of all agents of one creator.
pub async fn creator_history(
    executor: impl PgExecutor<'_>,
    creator: &Pubkey,
    now: DateTime<Utc>,
) -> Result<Vec<CreatorDay>, StoreError> {
    let days = sqlx::query_as!(
        CreatorDay,
        r#"SELECT d.day, sum(c.completed)::bigint AS "completed_executions!: Count",
                  sum(c.failed)::bigint AS "failed_executions!: Count",
                  sum(c.disputed)::bigint AS "disputed_executions!: Count",
                  LEAST(sum(d.earned), 9223372036854775807)::bigint AS "earned_usdc!: Usdc",
                  LEAST(sum(d.fees), 9223372036854775807)::bigint AS "fees_usdc!: Usdc"
           FROM mirror_agents a JOIN agent_days d ON d.agent = a.address, day_counts(d.metric, d.n) c
           WHERE a.creator = $1 AND d.day > ($2::timestamptz AT TIME ZONE 'UTC')::date - $3::integer
             AND d.day <= ($2::timestamptz AT TIME ZONE 'UTC')::date
           GROUP BY d.day HAVING sum(c.completed + c.failed) > 0
           ORDER BY d.day"#,
        creator.to_string(),
        now,
        METRICS_DAYS,
    );
    Ok(days.fetch_all(executor).await?)
}
