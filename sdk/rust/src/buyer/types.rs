//! What the API answers: the types of `docs/openapi.json`. Amounts are base units of USDC, and never floats.

use std::time::Duration;

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::client::Known;
pub use crate::verify::Status as ExecutionState;
use crate::verify::{Check, MoneyOutcome};

/// A call beyond agent and task. The default has no parameters, a new key, and the client's time-out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOptions {
    /// Match the agent's `input_schema`.
    pub parameters: Map<String, Value>,
    /// 1 to 255 visible ASCII characters. A caller that may crash chooses it and keeps it.
    pub idempotency_key: Option<String>,
    /// Only for a wallet: nothing is signed if the agent's price is higher.
    pub max_price: Option<UsdcBase>,
    /// For the whole call, with its retries and checks.
    pub timeout: Option<Duration>,
}

/// A result that is paid for.
#[derive(Clone, Debug, PartialEq)]
pub struct Purchase {
    pub execution_id: Uuid,
    pub result: String,
    /// `sha256:` and hexadecimal digits.
    pub result_hash: String,
    pub cost_usdc: UsdcBase,
    pub execution_time_ms: Option<u64>,
    pub tokens_used: Option<u64>,
    pub steps: Option<Vec<Value>>,
    /// On a chain explorer.
    pub on_chain_record: String,
    pub ipfs_url: String,
    pub idempotency_key: Option<String>,
    /// What it passed; empty if it was not verified.
    pub checks: Vec<Check>,
}

/// A call that was accepted: its escrow is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCall {
    pub execution_id: Uuid,
    pub idempotency_key: String,
    pub(super) known: Known,
}

/// The checks that an execution passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    pub execution_id: Uuid,
    pub outcome: Option<MoneyOutcome>,
    pub checks: Vec<Check>,
}

/// An execution of the wallet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ExecutionDetails {
    pub execution_id: Uuid,
    pub agent_id: String,
    pub agent_name: String,
    pub status: ExecutionState,
    pub result: Option<String>,
    pub result_hash: Option<String>,
    pub error: Option<ExecutionFailure>,
    pub cost_usdc: UsdcBase,
    pub creator_amount_usdc: UsdcBase,
    pub platform_amount_usdc: UsdcBase,
    pub execution_time_ms: Option<u64>,
    pub tokens_used: Option<u64>,
    pub steps: Option<Vec<Value>>,
    pub binding: Option<bool>,
    /// `caller`, `creator` or `gateway`.
    pub settled_by: Option<String>,
    pub dispute: Option<ExecutionDispute>,
    pub initiated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    pub on_chain_record: String,
    pub ipfs_url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ExecutionFailure {
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ExecutionDispute {
    pub status: String,
    pub raised_at: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub evidence_hash: String,
    pub evidence_uri: String,
    pub answer_hash: Option<String>,
    pub answer_uri: Option<String>,
    pub answered_at: Option<DateTime<Utc>>,
    pub compensation_usdc: UsdcBase,
    pub penalty_usdc: UsdcBase,
}

/// An execution as lists have it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ExecutionSummary {
    pub execution_id: Uuid,
    pub agent_id: String,
    pub agent_name: String,
    pub status: ExecutionState,
    pub cost_usdc: UsdcBase,
    /// What the creator and the platform received; 0 until it is settled.
    pub creator_amount_usdc: UsdcBase,
    pub platform_amount_usdc: UsdcBase,
    pub initiated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    pub execution_time_ms: Option<u64>,
    /// The key that opened it; `None` if the wallet itself did, or in a list of a creator.
    pub session_public_key: Option<String>,
    /// The code of the reason, of a failed one.
    pub failure: Option<String>,
    pub on_chain_record: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ExecutionList {
    pub executions: Vec<ExecutionSummary>,
    pub total: u64,
    pub limit: u32,
    pub offset: u64,
    /// The `cursor` of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
}

/// Which executions to list. The default lists the newest 20.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExecutionFilter {
    /// `caller` or `creator`.
    pub role: Option<String>,
    pub status: Option<ExecutionState>,
    pub agent_id: Option<String>,
    pub from: Option<DateTime<Utc>>,
    pub to: Option<DateTime<Utc>>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// Which agents to list. The default lists 20 of all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AgentFilter {
    /// Words.
    pub q: Option<String>,
    /// Separated by commas; agents that have every one.
    pub tags: Option<String>,
    /// The creator's wallet.
    pub creator: Option<String>,
    /// USDC, as decimal text.
    pub max_price: Option<String>,
    pub min_success_rate: Option<f64>,
    pub min_executions: Option<u64>,
    pub verified_only: Option<bool>,
    pub sort: Option<String>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct AgentList {
    pub agents: Vec<AgentOffer>,
    pub total: u64,
    pub limit: u32,
    pub offset: u64,
    /// The `cursor` of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
}

/// An agent as lists have it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct AgentOffer {
    pub agent_id: String,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    pub price_per_call_usdc: UsdcBase,
    /// `active` or `paused`.
    pub status: String,
    pub binding: bool,
    pub total_executions: u64,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub trust_usdc: UsdcBase,
    pub creator: OfferCreator,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OfferCreator {
    pub pubkey: String,
    pub verified: bool,
}

/// The full listing of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct AgentDetails {
    pub agent_id: String,
    pub name: String,
    pub tagline: String,
    pub description: String,
    pub tags: Vec<String>,
    pub input_schema: Value,
    pub output_schema: Value,
    pub price_per_call_usdc: UsdcBase,
    pub timeout_seconds: u32,
    /// `active` or `paused`.
    pub status: String,
    pub suspended: bool,
    pub binding: bool,
    pub min_cover: u32,
    pub terms_hash: String,
    pub on_chain_listing: String,
    pub created_at: DateTime<Utc>,
    pub total_executions: u64,
    pub successful_executions: u64,
    pub failed_executions: u64,
    pub expired_executions: u64,
    pub unproved_failures: u64,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub dispute_count: u64,
    pub unique_callers: u64,
    pub trust_usdc: UsdcBase,
    pub platform_fees_usdc: UsdcBase,
    pub creator: CreatorDetails,
    pub metrics: AgentMetrics,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CreatorDetails {
    pub pubkey: String,
    pub display_name: String,
    pub verified: bool,
    pub resembles_verified: bool,
    pub closed_agents: ClosedAgents,
}

/// What the creator's closed agents counted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ClosedAgents {
    pub agents: u64,
    pub completed_executions: u64,
    pub successful_executions: u64,
    pub failed_executions: u64,
    pub expired_executions: u64,
    pub unproved_failures: u64,
    pub dispute_count: u64,
    pub platform_fees_usdc: UsdcBase,
    pub slashed_usdc: UsdcBase,
}

/// Of the last `window_days`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct AgentMetrics {
    pub window_days: u32,
    pub completed_executions: u64,
    pub failed_executions: u64,
    pub disputed_executions: u64,
    pub success_rate: Option<f64>,
    pub dispute_rate: Option<f64>,
    pub p50_execution_time_ms: Option<u64>,
    pub p95_execution_time_ms: Option<u64>,
    pub unique_paying_wallets: u64,
    pub wallets_with_upheld_disputes: u64,
    pub fees_paid_usdc: UsdcBase,
    pub amount_at_risk_usdc: UsdcBase,
    pub free_collateral_usdc: UsdcBase,
    pub collateral_cover: Option<f64>,
}

/// Something that happened to the wallet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct WalletEvent {
    pub id: Uuid,
    #[serde(rename = "type")]
    pub kind: String,
    pub sequence: i64,
    /// The id of the wallet's event before this one.
    pub previous: Option<Uuid>,
    pub at: DateTime<Utc>,
    pub wallet: String,
    pub agent_id: Option<String>,
    pub execution_id: Option<Uuid>,
    pub slot: Option<i64>,
    /// The event says that an earlier one was wrong.
    pub correction: Option<bool>,
    pub data: WalletEventData,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct WalletEventData {
    pub amount_usdc: Option<UsdcBase>,
    pub bond_usdc: Option<UsdcBase>,
    pub collateral_usdc: Option<UsdcBase>,
    pub compensation_usdc: Option<UsdcBase>,
    pub penalty_usdc: Option<UsdcBase>,
    pub price_usdc: Option<UsdcBase>,
    pub slashed_total_usdc: Option<UsdcBase>,
    pub dispute: Option<String>,
    pub error_code: Option<String>,
    pub failure_reason: Option<String>,
    pub last_four: Option<String>,
    pub on_chain_record: Option<String>,
    pub outcome: Option<String>,
    pub reason: Option<String>,
    pub result_hash: Option<String>,
    pub session_public_key: Option<String>,
    pub status: Option<String>,
    pub webhook_id: Option<Uuid>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct WalletEventList {
    pub events: Vec<WalletEvent>,
    pub oldest: i64,
    pub newest: i64,
    /// The `after` of the next page.
    pub next_after: i64,
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
