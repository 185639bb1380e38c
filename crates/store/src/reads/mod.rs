//! The queries of the read API. Every query takes an executor first, then the caller's wallet if only its owner may
//! see the rows, then filter, order and page. Rules of visibility, status and cost are in the views of
//! `migrations/0004_executions.sql`.

mod agent_history;
pub mod agent_list;
mod agent_metrics;
mod agent_names;
mod agents;
mod configuration;
mod disputes;
mod execution_list;
mod executions;
mod freshness;
mod history;
mod listings;
mod page;
mod statistics;
mod wallets;

pub use crate::columns::{Count, Timestamp};
pub use agent_history::{AgentDay, RecentExecution, agent_days, recent_executions};
pub use agent_metrics::{AgentMetrics, METRICS_DAYS, agent_metrics};
pub use agent_names::agent_names;
pub use agents::{
    AgentDetails, AgentVersion, CreatorDetails, ListingStatus, ListingStatusName, agent, agent_versions, agents,
};
pub use configuration::{
    AnnouncedParameters, AnnouncedRoles, Configuration, NetworkParameters, NetworkRoles, configuration,
};
pub use disputes::{
    DisputeDetails, DisputeFilter, DisputePlace, DisputeScope, DisputeStatus, DisputeTransactions, dispute,
    is_resolver, list_disputes,
};
pub use execution_list::{
    ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace, ExecutionRole, ListedExecution, ShownStatus,
    execution_lists, list_executions,
};
pub use executions::{ExecutionDetails, ExecutionDispute, ExecutionQuestion, SettledBy, execution, executions};
pub use freshness::{Freshness, freshness, quarantined};
pub use history::{CreatorDay, MarketDay, creator_history, market_history};
pub use listings::{ListingReason, ListingReasonCode, ListingState, is_quarantined, listing};
pub use page::{Listed, Page, Start};
pub use statistics::{MirrorCounts, mirror_counts};
pub use wallets::{
    OverdueExecution, OwnedAgent, WalletProfile, WalletTotals, WithdrawableCollateral, overdue_executions,
    owned_agents, wallet_profile, wallet_totals, withdrawable_collateral,
};
