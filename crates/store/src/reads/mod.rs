//! The queries of the read API. Every query takes an executor first, then the caller's wallet if only its owner may
//! see the rows, then filter, order and page. Rules of visibility, status and cost are in the views of
//! `migrations/0006_second_pass.sql`.

mod agents;
mod configuration;
mod disputes;
mod executions;
mod numbers;
mod page;
mod statistics;
mod wallets;

pub use agents::{AgentDetails, AgentFilter, AgentSort, ListedAgent, ListingStatus, agent, count_agents, list_agents};
pub use configuration::configuration;
pub use disputes::{
    DisputeDetails, DisputeFilter, DisputeRole, Statement, count_all_disputes, count_disputes, dispute, is_resolver,
    list_all_disputes, list_disputes,
};
pub use executions::{
    ExecutionDetails, ExecutionFilter, ListedExecution, ShownAnswer, ShownDispute, ShownFailure, ShownStatus,
    count_executions, execution, list_executions,
};
pub use page::Page;
pub use statistics::{MirrorCounts, mirror_counts};
pub use wallets::{
    OverdueExecution, OwnedAgent, WalletProfile, WalletTotals, overdue_executions, owned_agents, wallet_profile,
    wallet_totals,
};
