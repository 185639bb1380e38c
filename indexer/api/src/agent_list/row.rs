//! A row of the list, and the orders of rows.

use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::agent_list::ListedRow;

use crate::{agents::CreatorSummary, list_agents_response::AgentSummary};

/// What the list shows of an agent, and sorts by beyond that.
#[derive(Clone, Debug)]
pub struct Row {
    pub summary: AgentSummary,
    /// Microseconds.
    pub created_at: i64,
    /// Says which document the texts are from.
    pub metadata_hash: Vec<u8>,
}

impl From<ListedRow> for Row {
    fn from(row: ListedRow) -> Self {
        let summary = AgentSummary {
            agent_id: row.address.to_string(),
            name: row.name,
            tagline: row.tagline,
            tags: row.tags,
            binding: row.binding,
            price_per_call_usdc: UsdcBase(row.price),
            total_executions: row.total_executions,
            trust_usdc: UsdcBase(row.trust),
            success_rate: row.success_rate,
            avg_execution_time_ms: row.avg_execution_time_ms,
            creator: CreatorSummary { pubkey: row.creator, verified: row.verified },
            status: "active",
        };
        Self { summary, created_at: row.created_at.timestamp_micros(), metadata_hash: row.metadata_hash }
    }
}

/// An order of the list. Rows with equal keys are ordered by address, as text, so that clients can see the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    TotalExecutions,
    SuccessRate,
    PriceAscending,
    PriceDescending,
    CreatedAt,
    Trust,
}

impl Sort {
    pub const ALL: [Self; 6] = [
        Self::TotalExecutions,
        Self::SuccessRate,
        Self::PriceAscending,
        Self::PriceDescending,
        Self::CreatedAt,
        Self::Trust,
    ];

    /// A number that grows in this order.
    pub fn key(self, row: &Row) -> u64 {
        let summary = &row.summary;
        match self {
            Self::TotalExecutions => !summary.total_executions,
            // The bits of numbers that are not negative have the order of the numbers.
            Self::SuccessRate => !summary.success_rate.to_bits(),
            Self::PriceAscending => summary.price_per_call_usdc.0,
            Self::PriceDescending => !summary.price_per_call_usdc.0,
            Self::CreatedAt => !row.created_at.wrapping_sub(i64::MIN).cast_unsigned(),
            Self::Trust => !summary.trust_usdc.0,
        }
    }
}
