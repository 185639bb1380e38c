//! `metrics` of an agent: what a buyer compares agents by. They are counted from many rows, so they are kept for a while.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use crtx_http::ApiError;
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    PgPool,
    pools::ReadConnection,
    reads::{self, AgentDetails, AgentMetrics, METRICS_DAYS},
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::kept::Kept;

/// Agents whose figures are kept.
const MAX_KEPT: u64 = 200_000;
/// How long figures are kept: while the agent works, and otherwise.
const AGE_OF_BUSY: Duration = Duration::from_secs(2);
const AGE: Duration = Duration::from_secs(60);
/// An agent whose listing changed within this time works.
const BUSY_FOR: TimeDelta = TimeDelta::minutes(2);

/// What buyers compare agents by. A figure that has no meaning yet is null.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AgentMetricsResponse {
    /// Days that the execution times and rates cover.
    pub window_days: u32,
    /// Half of the completed executions took at most this time, within 2.5 %.
    #[schema(required)]
    pub p50_execution_time_ms: Option<u64>,
    /// 95 of 100 completed executions took at most this time, within 2.5 %.
    #[schema(required)]
    pub p95_execution_time_ms: Option<u64>,
    /// 0.0 to 1.0: completed without an upheld dispute, of completed and failed.
    #[schema(required)]
    pub success_rate: Option<f64>,
    /// 0.0 to 1.0: disputed, of completed.
    #[schema(required)]
    pub dispute_rate: Option<f64>,
    pub completed_executions: u64,
    pub failed_executions: u64,
    pub disputed_executions: u64,
    /// Wallets that paid a completed execution, ever.
    pub unique_paying_wallets: u64,
    /// Platform fees of completed executions, ever.
    #[schema(value_type = f64)]
    pub fees_paid_usdc: UsdcBase,
    /// Collateral that open disputes do not claim.
    #[schema(value_type = f64)]
    pub free_collateral_usdc: UsdcBase,
    /// Amounts of open executions and of completed ones that can still be disputed.
    #[schema(value_type = f64)]
    pub amount_at_risk_usdc: UsdcBase,
    /// `free_collateral_usdc` / `amount_at_risk_usdc`: from 1 on, every caller can be compensated. null while nothing is
    /// at risk.
    #[schema(required)]
    pub collateral_cover: Option<f64>,
}

/// Figures that are counted from many rows.
#[derive(Clone, Copy, Debug)]
struct Counted {
    metrics: AgentMetrics,
    disputable: UsdcBase,
}

/// An agent with the totals of its listing: figures of other totals are old.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    agent: Pubkey,
    totals: [u64; 4],
}

/// Counts figures of agents, and keeps them.
pub struct Metrics {
    pool: PgPool,
    kept: Kept<Key, Counted>,
}

impl Metrics {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, kept: Kept::new(MAX_KEPT) }
    }

    pub async fn of(&self, agent: &AgentDetails) -> Result<AgentMetricsResponse, ApiError> {
        let address = agent.address;
        let totals =
            [agent.total_executions, agent.successful_executions, agent.expired_executions, agent.dispute_count];
        let counted = self.kept.get(Key { agent: address, totals }, self.count(address, agent)).await?;
        Ok(response(agent, &counted))
    }

    async fn count(&self, address: Pubkey, agent: &AgentDetails) -> Result<(Counted, Duration), ApiError> {
        let now = Utc::now();
        let mut connection = ReadConnection::acquire(&self.pool).await?;
        let metrics = reads::agent_metrics(&mut *connection, &address, now).await?;
        let disputable = reads::disputable_amount(&mut *connection, &address, now).await?;
        connection.done();
        let busy = now.signed_duration_since(agent.updated_at) < BUSY_FOR;
        Ok((Counted { metrics, disputable }, if busy { AGE_OF_BUSY } else { AGE }))
    }
}

fn response(agent: &AgentDetails, counted: &Counted) -> AgentMetricsResponse {
    let Counted { metrics, disputable } = counted;
    let free = agent.collateral.0.saturating_sub(agent.disputed_amount.0);
    let at_risk = agent.open_amount.0.saturating_add(disputable.0);
    AgentMetricsResponse {
        window_days: METRICS_DAYS.unsigned_abs(),
        p50_execution_time_ms: metrics.p50_execution_time_ms,
        p95_execution_time_ms: metrics.p95_execution_time_ms,
        success_rate: metrics.success_rate_30d,
        dispute_rate: metrics.dispute_rate_30d,
        completed_executions: metrics.completed_30d,
        failed_executions: metrics.failed_30d,
        disputed_executions: metrics.disputed_30d,
        unique_paying_wallets: agent.unique_callers,
        fees_paid_usdc: agent.platform_fees,
        free_collateral_usdc: UsdcBase(free),
        amount_at_risk_usdc: UsdcBase(at_risk),
        collateral_cover: (at_risk > 0).then(|| quotient(free, at_risk)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio that is shown")]
fn quotient(amount: u64, of: u64) -> f64 {
    amount as f64 / of as f64
}
