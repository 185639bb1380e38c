//! The queries of the read API. Every query takes a database first, then the caller's wallet if only its owner may
//! see the rows, then filter, order and page. Rules of visibility, status and cost are in the views of
//! `migrations/0004_executions.sql`.

pub mod agent_list;
mod agents;
mod configuration;
mod counts;
mod days;
mod disputes;
mod execution_list;
mod executions;
mod health;
mod listings;
mod page;
mod totals;
mod wallets;

pub use crate::columns::{Count, Timestamp};
pub use agents::{
    AgentDetails, AgentVersion, CreatorDetails, ListingStatus, ListingStatusName, agent_names, agent_versions, agents,
};
pub use configuration::{
    AnnouncedParameters, AnnouncedRoles, Configuration, NetworkParameters, NetworkRoles, configuration,
};
pub use counts::{MirrorCounts, mirror_counts, quarantined};
pub use days::{
    AgentDay, AgentMetrics, CreatorDay, METRICS_DAYS, MarketDay, agent_days, agent_metrics, creator_history,
    market_history,
};
pub use disputes::{
    DisputeDetails, DisputeFilter, DisputePlace, DisputeScope, DisputeStatus, DisputeTransactions, dispute,
    is_resolver, list_disputes,
};
pub use execution_list::{
    ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace, ExecutionRole, ListedExecution, ShownStatus,
    execution_lists,
};
pub use executions::{
    ExecutionDetails, ExecutionDispute, ExecutionFailure, ExecutionQuestion, RecentExecution, RefundReason, SettledBy,
    executions, recent_executions,
};
pub use health::{AgentFailure, AgentHealthResponse, agent_failures, agent_health, lists_agent};
pub use listings::{ListingReason, ListingReasonCode, ListingState, is_quarantined, listing};
pub use page::{Listed, Start};
pub use totals::{ExecutionTotals, GroupedTotals, TotalsBy, TotalsQuestion, execution_totals};
pub use wallets::{
    OverdueExecution, OwnedAgent, WalletProfile, WalletTotals, WithdrawableCollateral, overdue_executions,
    owned_agents, wallet_profile, wallet_totals, withdrawable_collateral,
};
