//! The queries of the read API. Every query takes an executor first, then the caller's wallet if only its owner may
//! see the rows, then filter, order and page. Rules of visibility, status and cost are in the views of
//! `migrations/0006_second_pass.sql`.

mod agents;
mod executions;
mod page;
mod statistics;

pub use agents::{AgentDetails, AgentFilter, AgentSort, ListedAgent, ListingStatus, agent, count_agents, list_agents};
pub use executions::{
    ExecutionDetails, ExecutionFilter, ListedExecution, ShownAnswer, ShownDispute, ShownFailure, ShownStatus,
    count_executions, execution, list_executions,
};
pub use page::Page;
pub use statistics::{MirrorCounts, mirror_counts};
