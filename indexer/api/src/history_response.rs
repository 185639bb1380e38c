//! The days of the market and of a creator as JSON.

use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::HistoryDay;
use serde::Serialize;
use utoipa::ToSchema;

/// One day (UTC). Days on which no execution ended are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MarketDayResponse {
    #[schema(format = Date, example = "2026-11-21")]
    day: String,
    completed_executions: u64,
    failed_executions: u64,
    disputed_executions: u64,
    /// What callers paid for the day's completed executions.
    #[schema(value_type = f64)]
    volume_usdc: UsdcBase,
    /// Platform fees among it.
    #[schema(value_type = f64)]
    fees_usdc: UsdcBase,
}

/// The last 30 days of the market.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MarketHistoryResponse {
    /// Days that are looked at, today among them.
    pub window_days: u32,
    /// Oldest first.
    pub days: Vec<MarketDayResponse>,
}

/// One day (UTC) of a creator's agents. Days on which no execution ended are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreatorDayResponse {
    #[schema(format = Date, example = "2026-11-21")]
    day: String,
    completed_executions: u64,
    failed_executions: u64,
    disputed_executions: u64,
    /// What the creator received for the day's completed executions. What a dispute took back later is not subtracted.
    #[schema(value_type = f64)]
    earned_usdc: UsdcBase,
    /// Platform fees of the same executions.
    #[schema(value_type = f64)]
    fees_usdc: UsdcBase,
}

/// The last 30 days of the agents of a creator, closed ones among them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreatorHistoryResponse {
    /// Days that are looked at, today among them.
    pub window_days: u32,
    /// Oldest first.
    pub days: Vec<CreatorDayResponse>,
}

impl From<HistoryDay> for MarketDayResponse {
    fn from(day: HistoryDay) -> Self {
        Self {
            day: day.day.to_string(),
            completed_executions: day.completed,
            failed_executions: day.failed,
            disputed_executions: day.disputed,
            volume_usdc: UsdcBase(day.earned.0.saturating_add(day.fees.0)),
            fees_usdc: day.fees,
        }
    }
}

impl From<HistoryDay> for CreatorDayResponse {
    fn from(day: HistoryDay) -> Self {
        Self {
            day: day.day.to_string(),
            completed_executions: day.completed,
            failed_executions: day.failed,
            disputed_executions: day.disputed,
            earned_usdc: day.earned,
            fees_usdc: day.fees,
        }
    }
}
