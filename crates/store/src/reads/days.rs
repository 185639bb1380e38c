//! What was done and paid day by day: by one agent and to one creator (`agent_days`), and in the whole market
//! (`market_days`).
//!
//! The counters of a day change at most a second after the records: they are rolled up like those of lists.

use chrono::{DateTime, NaiveDate, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor};
use utoipa::ToSchema;

use crate::{
    Result,
    columns::{Count, Usdc},
};

/// Days that the metrics cover, today among them.
pub const METRICS_DAYS: i32 = 30;
/// `metric` of completed executions without a time that the gateway measured.
const UNTIMED: i16 = 99;
/// `metric` of the smallest class of execution times: 0 ms. The next one begins at 1 ms.
const FIRST_CLASS: i16 = 100;
/// How much wider each class is than the one before: the SQL function `time_class`.
const CLASS_RATIO: f64 = 1.05;

/// What buyers compare agents by. A figure that has no meaning yet is null.
// Of the last 30 days of an agent, or of one of them, by the day on which an execution ended (UTC). `AgentDetails::add_to`
// adds what the listing knows: until then nothing but completed executions is at risk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = AgentMetricsResponse)]
pub struct AgentMetrics {
    /// Days that the execution times and rates cover.
    pub(super) window_days: u32,
    /// Half of the completed executions that the gateway settled took at most this time, within 2.5 %.
    #[schema(required)]
    pub p50_execution_time_ms: Option<u64>,
    /// 95 of 100 of them took at most this time, within 2.5 %.
    #[schema(required)]
    pub p95_execution_time_ms: Option<u64>,
    /// 0.0 to 1.0: completed without an upheld dispute, of completed and failed by the agent.
    #[schema(required)]
    pub success_rate: Option<f64>,
    /// 0.0 to 1.0: upheld disputes, of completed. A claim that was not found right does not count against the agent.
    #[schema(required)]
    pub dispute_rate: Option<f64>,
    pub completed_executions: u64,
    pub failed_executions: u64,
    pub disputed_executions: u64,
    #[serde(skip)]
    pub upheld_disputes: u64,
    /// What the platform received of completed executions.
    #[serde(skip)]
    pub fees: UsdcBase,
    /// Wallets that paid a completed execution, ever.
    pub(super) unique_paying_wallets: u64,
    /// Those of them with an upheld dispute.
    pub(super) wallets_with_upheld_disputes: u64,
    /// Platform fees of completed executions, ever.
    #[schema(value_type = f64)]
    pub(super) fees_paid_usdc: UsdcBase,
    /// Collateral that open disputes do not claim.
    #[schema(value_type = f64)]
    pub(super) free_collateral_usdc: UsdcBase,
    /// Amounts of open executions and of completed ones that can still be disputed.
    #[schema(value_type = f64)]
    pub(super) amount_at_risk_usdc: UsdcBase,
    /// `free_collateral_usdc` / `price_per_call_usdc`: what the next caller can be compensated with, in prices of a call.
    /// Open calls of others do not change it.
    #[schema(required)]
    pub(super) collateral_cover: Option<f64>,
}

/// The metrics of an agent at `now`, without what its listing knows. All zero for an agent that did nothing.
pub async fn agent_metrics(connection: &mut PgConnection, agent: &Pubkey, now: DateTime<Utc>) -> Result<AgentMetrics> {
    let rows = sqlx::query!(
        r#"SELECT metric, sum(n)::bigint AS "n!: Count", LEAST(sum(fees), 9223372036854775807)::bigint AS "fees!: Usdc"
           FROM agent_days
           WHERE agent = $1 AND day BETWEEN utc_day($2) - $3::integer + 1 AND utc_day($2)
           GROUP BY metric HAVING sum(n) > 0
           ORDER BY metric"#,
        agent.to_string(),
        now,
        METRICS_DAYS,
    );
    let rows = rows.fetch_all(&mut *connection).await?;
    let metrics = metrics(rows.into_iter().map(|row| (row.metric, row.n.into(), row.fees.into())));
    Ok(AgentMetrics { amount_at_risk_usdc: disputable_amount(connection, agent, now).await?, ..metrics })
}

/// The metrics in rows of `agent_days` of one agent: metric, number and fees, in the order of the metric.
fn metrics(rows: impl Iterator<Item = (i16, u64, UsdcBase)>) -> AgentMetrics {
    let mut metrics = AgentMetrics::default();
    // Classes of execution times, each with its number of executions.
    let mut times: Vec<(i16, u64)> = Vec::new();
    for (metric, n, fees) in rows {
        match metric {
            0 => metrics.failed_executions = n,
            1 => metrics.disputed_executions = n,
            2 => metrics.upheld_disputes = n,
            class => {
                metrics.completed_executions = metrics.completed_executions.saturating_add(n);
                metrics.fees.0 = metrics.fees.0.saturating_add(fees.0);
                if class > UNTIMED {
                    times.push((class, n));
                }
            }
        }
    }
    let finished = metrics.completed_executions.saturating_add(metrics.failed_executions);
    AgentMetrics {
        success_rate: share(metrics.completed_executions.saturating_sub(metrics.upheld_disputes), finished),
        dispute_rate: share(metrics.upheld_disputes, metrics.completed_executions),
        p50_execution_time_ms: percentile(&times, 50),
        p95_execution_time_ms: percentile(&times, 95),
        ..metrics
    }
}

/// Executions that are added up, the newest first: an agent can have any number of them.
const MAX_DISPUTABLE: i64 = 100_000;

/// The amounts of an agent's completed executions that their callers can still dispute at `now`.
async fn disputable_amount(connection: &mut PgConnection, agent: &Pubkey, now: DateTime<Utc>) -> Result<UsdcBase> {
    let row = sqlx::query!(
        r#"SELECT LEAST(COALESCE(sum(amount), 0), 9223372036854775807)::bigint AS "sum!: Usdc"
           FROM (SELECT amount FROM mirror_executions
                 WHERE agent = $1 AND closed_at_slot IS NULL AND status = record_status('completed')
                     AND finished_at + make_interval(secs => dispute_window_s) > $2
                 ORDER BY finished_at DESC LIMIT $3) AS disputable"#,
        agent.to_string(),
        now,
        MAX_DISPUTABLE,
    );
    let row = row.fetch_one(connection).await?;
    Ok(row.sum.into())
}

#[expect(clippy::cast_precision_loss, reason = "a share of more than 2^52 needs no more digits")]
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The time of the class in which the `percent`th of 100 executions is. `times` are in order.
fn percentile(times: &[(i16, u64)], percent: u64) -> Option<u64> {
    let all = times.iter().fold(0_u64, |all, (_, n)| all.saturating_add(*n));
    let place = all.saturating_mul(percent).div_ceil(100);
    let mut passed = 0_u64;
    let class = times.iter().find(|(_, n)| {
        passed = passed.saturating_add(*n);
        passed >= place
    });
    class.map(|(class, _)| middle_of(*class))
}

/// The middle of a class of execution times.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in milliseconds, never negative")]
fn middle_of(class: i16) -> u64 {
    let Some(steps) = class.checked_sub(FIRST_CLASS).filter(|steps| *steps > 0) else { return 0 };
    let start = CLASS_RATIO.powi(i32::from(steps).saturating_sub(1));
    (start * CLASS_RATIO.sqrt()).floor().max(1.0) as u64
}

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

/// The last 30 days of an agent at `now`, oldest first, without those on which nothing ended.
pub async fn agent_days(db: impl PgExecutor<'_>, agent: &Pubkey, now: DateTime<Utc>) -> Result<Vec<AgentDay>> {
    let rows = sqlx::query!(
        r#"SELECT day, metric, n AS "n: Count", LEAST(fees, 9223372036854775807)::bigint AS "fees!: Usdc"
           FROM agent_days
           WHERE agent = $1 AND n > 0 AND day BETWEEN utc_day($2) - $3::integer + 1 AND utc_day($2)
           ORDER BY day, metric"#,
        agent.to_string(),
        now,
        METRICS_DAYS,
    );
    let rows = rows.fetch_all(db).await?;
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
pub async fn market_history(db: impl PgExecutor<'_>, now: DateTime<Utc>) -> Result<Vec<MarketDay>> {
    let days = sqlx::query_as!(
        MarketDay,
        r#"SELECT day, completed AS "completed_executions: Count", failed AS "failed_executions: Count",
                  disputed AS "disputed_executions: Count",
                  LEAST(earned + fees, 9223372036854775807)::bigint AS "volume_usdc!: Usdc",
                  LEAST(fees, 9223372036854775807)::bigint AS "fees_usdc!: Usdc"
           FROM market_days
           WHERE day BETWEEN utc_day($1) - $2::integer + 1 AND utc_day($1) AND completed + failed > 0
           ORDER BY day"#,
        now,
        METRICS_DAYS,
    );
    Ok(days.fetch_all(db).await?)
}

/// The same of all agents of one creator.
pub async fn creator_history(db: impl PgExecutor<'_>, creator: &Pubkey, now: DateTime<Utc>) -> Result<Vec<CreatorDay>> {
    let days = sqlx::query_as!(
        CreatorDay,
        r#"SELECT d.day, sum(c.completed)::bigint AS "completed_executions!: Count",
                  sum(c.failed)::bigint AS "failed_executions!: Count",
                  sum(c.disputed)::bigint AS "disputed_executions!: Count",
                  LEAST(sum(d.earned), 9223372036854775807)::bigint AS "earned_usdc!: Usdc",
                  LEAST(sum(d.fees), 9223372036854775807)::bigint AS "fees_usdc!: Usdc"
           FROM mirror_agents a JOIN agent_days d ON d.agent = a.address, day_counts(d.metric, d.n) c
           WHERE a.creator = $1 AND d.day BETWEEN utc_day($2) - $3::integer + 1 AND utc_day($2)
           GROUP BY d.day HAVING sum(c.completed + c.failed) > 0
           ORDER BY d.day"#,
        creator.to_string(),
        now,
        METRICS_DAYS,
    );
    Ok(days.fetch_all(db).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_stands_for_times_within_three_percent() {
        for ms in [1_u64, 2, 10, 99, 1_200, 60_000, 600_000, 4_294_967_295] {
            let class = 101 + ((ms as f64).ln() / CLASS_RATIO.ln()).floor() as i16;
            let shown = middle_of(class);
            assert!(shown.abs_diff(ms) as f64 <= ms as f64 * 0.03 + 1.0, "{ms} ms is shown as {shown} ms");
        }
        assert_eq!(middle_of(FIRST_CLASS), 0);
    }

    #[test]
    fn a_percentile_is_the_class_in_which_its_place_is() {
        let times = [(100, 1), (101, 1), (150, 98)];
        assert_eq!(percentile(&times, 1), Some(0));
        assert_eq!(percentile(&times, 2), Some(middle_of(101)));
        assert_eq!(percentile(&times, 50), Some(middle_of(150)));
        assert_eq!(percentile(&[], 50), None);
    }
}
