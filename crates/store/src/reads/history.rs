//! What was paid day by day: in the whole market (`market_days`) and to one creator (`agent_day_sums`).
//!
//! The counters change at most a second after the records: they are folded like those of lists.

use chrono::{DateTime, NaiveDate, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use super::agent_metrics::METRICS_DAYS;
use crate::{convert::amount_from_db, error::StoreError};

/// One day (UTC) on which executions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryDay {
    pub day: NaiveDate,
    /// Executions that were paid for, those with a dispute among them.
    pub completed: u64,
    /// Executions that were refunded because the agent failed. What expired counts as nobody's failure.
    pub failed: u64,
    /// Completed executions that were disputed.
    pub disputed: u64,
    /// What the creators received for the completed executions.
    pub earned: UsdcBase,
    /// What the platform received for them.
    pub fees: UsdcBase,
}

/// A row of one of the two statements.
struct Row {
    day: NaiveDate,
    completed: i64,
    failed: i64,
    disputed: i64,
    earned: i64,
    fees: i64,
}

impl TryFrom<Row> for HistoryDay {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            day: row.day,
            completed: amount_from_db("executions", row.completed)?,
            failed: amount_from_db("executions", row.failed)?,
            disputed: amount_from_db("executions", row.disputed)?,
            earned: UsdcBase(amount_from_db("earned", row.earned)?),
            fees: UsdcBase(amount_from_db("fees", row.fees)?),
        })
    }
}

/// The last 30 days of the market at `now`, oldest first, without those on which nothing ended.
pub async fn market_history(executor: impl PgExecutor<'_>, now: DateTime<Utc>) -> Result<Vec<HistoryDay>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT day, completed, failed, disputed, LEAST(earned, 9223372036854775807)::bigint AS "earned!",
                  LEAST(fees, 9223372036854775807)::bigint AS "fees!"
           FROM market_days
           WHERE day > ($1::timestamptz AT TIME ZONE 'UTC')::date - $2::integer
             AND day <= ($1::timestamptz AT TIME ZONE 'UTC')::date AND completed + failed > 0
           ORDER BY day"#,
        now,
        METRICS_DAYS,
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The same of all agents of one creator.
pub async fn creator_history(
    executor: impl PgExecutor<'_>,
    creator: &Pubkey,
    now: DateTime<Utc>,
) -> Result<Vec<HistoryDay>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT day, sum(completed)::bigint AS "completed!", sum(failed)::bigint AS "failed!",
                  sum(disputed)::bigint AS "disputed!", LEAST(sum(earned), 9223372036854775807)::bigint AS "earned!",
                  LEAST(sum(fees), 9223372036854775807)::bigint AS "fees!"
           FROM agent_day_sums
           WHERE creator = $1 AND day > ($2::timestamptz AT TIME ZONE 'UTC')::date - $3::integer
             AND day <= ($2::timestamptz AT TIME ZONE 'UTC')::date
           GROUP BY day HAVING sum(completed) + sum(failed) > 0
           ORDER BY day"#,
        creator.to_string(),
        now,
        METRICS_DAYS,
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
