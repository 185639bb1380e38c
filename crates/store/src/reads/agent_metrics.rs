//! What an agent did in the last 30 days: `agent_days`.
//!
//! The counters of a day change at most a second after the records: they are folded like those of lists.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    columns::{Count, Usdc},
    error::StoreError,
};

/// Days that the metrics cover, today among them.
pub const METRICS_DAYS: i32 = 30;
/// `metric` of the smallest class of execution times: 0 ms. The next one begins at 1 ms.
const FIRST_CLASS: i16 = 100;
/// How much wider each class is than the one before: the SQL function `time_class`.
const CLASS_RATIO: f64 = 1.05;

/// An agent's last 30 days, or one of them, by the day on which an execution ended (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AgentMetrics {
    /// Executions that were paid for, those with a dispute among them.
    pub completed_30d: u64,
    /// Executions that were refunded because the agent failed. What expired counts as nobody's failure.
    pub failed_30d: u64,
    /// Completed executions that were disputed.
    pub disputed_30d: u64,
    /// Disputes that were upheld.
    pub upheld_30d: u64,
    /// What the platform received of completed executions.
    pub fees_30d: UsdcBase,
    /// Share of completed and failed executions that completed without an upheld dispute. `None`: there are none.
    pub success_rate_30d: Option<f64>,
    /// Share of completed executions that were disputed. `None`: there are none.
    pub dispute_rate_30d: Option<f64>,
    /// Half of the completed executions took at most this time, within 2.5 %. `None`: there are none.
    pub p50_execution_time_ms: Option<u64>,
    pub p95_execution_time_ms: Option<u64>,
}

/// The metrics of an agent at `now`. All zero for an agent that did nothing.
pub async fn agent_metrics(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    now: DateTime<Utc>,
) -> Result<AgentMetrics, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT metric, sum(n)::bigint AS "n!: Count", LEAST(sum(fees), 9223372036854775807)::bigint AS "fees!: Usdc"
           FROM agent_days
           WHERE agent = $1 AND day > ($2::timestamptz AT TIME ZONE 'UTC')::date - $3::integer
             AND day <= ($2::timestamptz AT TIME ZONE 'UTC')::date
           GROUP BY metric HAVING sum(n) > 0
           ORDER BY metric"#,
        agent.to_string(),
        now,
        METRICS_DAYS,
    )
    .fetch_all(executor)
    .await?;
    Ok(metrics(rows.into_iter().map(|row| (row.metric, row.n.into(), row.fees.into()))))
}

/// The metrics in rows of `agent_days` of one agent: metric, number and fees, in the order of the metric.
pub(super) fn metrics(rows: impl Iterator<Item = (i16, u64, UsdcBase)>) -> AgentMetrics {
    let mut metrics = AgentMetrics::default();
    // Classes of execution times, each with its number of executions.
    let mut times: Vec<(i16, u64)> = Vec::new();
    for (metric, n, fees) in rows {
        match metric {
            0 => metrics.failed_30d = n,
            1 => metrics.disputed_30d = n,
            2 => metrics.upheld_30d = n,
            class => {
                metrics.completed_30d = metrics.completed_30d.saturating_add(n);
                metrics.fees_30d.0 = metrics.fees_30d.0.saturating_add(fees.0);
                times.push((class, n));
            }
        }
    }
    let finished = metrics.completed_30d.saturating_add(metrics.failed_30d);
    AgentMetrics {
        success_rate_30d: share(metrics.completed_30d.saturating_sub(metrics.upheld_30d), finished),
        dispute_rate_30d: share(metrics.disputed_30d, metrics.completed_30d),
        p50_execution_time_ms: percentile(&times, metrics.completed_30d, 50),
        p95_execution_time_ms: percentile(&times, metrics.completed_30d, 95),
        ..metrics
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of more than 2^52 executions needs no more digits")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The time of the class in which the `percent`th of `all` executions is. `times` are in order.
fn percentile(times: &[(i16, u64)], all: u64, percent: u64) -> Option<u64> {
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
        assert_eq!(percentile(&times, 100, 1), Some(0));
        assert_eq!(percentile(&times, 100, 2), Some(middle_of(101)));
        assert_eq!(percentile(&times, 100, 50), Some(middle_of(150)));
        assert_eq!(percentile(&[], 0, 50), None);
    }
}
