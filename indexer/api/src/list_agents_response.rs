//! The answer of `GET /v1/agents`.

use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{agents::CreatorSummary, names::ListingStatusName};

/// An agent in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentSummary {
    /// Address of the listing account.
    pub agent_id: String,
    pub name: String,
    /// One sentence.
    pub tagline: String,
    /// Capability tags.
    pub tags: Vec<String>,
    /// Whether each result is signed for its call, so that no signature settles another call.
    pub binding: bool,
    /// Price of one execution.
    #[schema(value_type = f64)]
    pub price_per_call_usdc: UsdcBase,
    /// Finished executions: completed and failed. Expired ones are not counted.
    pub total_executions: u64,
    /// `platform_fees_usdc` x `successful_executions` / max(`total_executions`, 1), rounded down to base units: the
    /// platform fees that were paid for results that stand. Every factor is in the listing account.
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    /// 0.0 to 1.0: successful of total; 0 before the first.
    pub success_rate: f64,
    /// Mean over completed executions; 0 before the first.
    pub avg_execution_time_ms: u64,
    pub creator: CreatorSummary,
    #[schema(value_type = ListingStatusName)]
    pub status: &'static str,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentListResponse {
    pub agents: Vec<AgentSummary>,
    /// Agents that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    pub offset: u64,
    /// The `cursor` of the next page; null on the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}
