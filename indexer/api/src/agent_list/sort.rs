//! The orders of the list.

use crtx_store::reads::agent_list::AgentSummary;
use serde::Deserialize;
use utoipa::ToSchema;

/// Orders of the list.
// Rows with equal keys are ordered by address, as text, so that clients can see the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentSort {
    #[default]
    TotalExecutions,
    SuccessRate,
    PriceAsc,
    PriceDesc,
    CreatedAt,
    Trust,
    // The rows that fit the words best first, then by executions.
    Relevance,
}

impl AgentSort {
    /// Those that a table keeps.
    pub const KEPT: [Self; 6] =
        [Self::TotalExecutions, Self::SuccessRate, Self::PriceAsc, Self::PriceDesc, Self::CreatedAt, Self::Trust];

    /// A number that grows in this order.
    pub fn key(self, row: &AgentSummary) -> u64 {
        match self {
            Self::TotalExecutions | Self::Relevance => !row.total_executions,
            // The bits of numbers that are not negative have the order of the numbers.
            Self::SuccessRate => !row.success_rate.to_bits(),
            Self::PriceAsc => row.price_per_call_usdc.0,
            Self::PriceDesc => !row.price_per_call_usdc.0,
            Self::CreatedAt => !row.created_at.timestamp_micros().wrapping_sub(i64::MIN).cast_unsigned(),
            Self::Trust => !row.trust_usdc.0,
        }
    }
}
