//! The instructions, one file each: arguments, accounts, rules, effects. What several of them share is in
//! `shared`.
//!
//! All have one shape. `handler` reads the clock if the rules need it, calls `validate`, and only then writes
//! and pays. `validate` writes nothing: it refuses whatever breaks a rule, and returns what `handler` writes
//! where that follows from the rules.

pub mod accept_admin;
pub mod announce_parameters;
pub mod announce_roles;
pub mod answer_dispute;
pub mod apply_parameters;
pub mod apply_roles;
pub mod cancel_dispute;
pub mod close_agent;
pub mod close_execution;
pub mod complete_execution;
pub mod delist_agent;
pub mod deposit_collateral;
pub mod expire_dispute;
pub mod fail_execution;
pub mod grant_spending;
pub mod initialize_config;
pub mod list_agent;
pub mod nominate_admin;
pub mod open_dispute;
pub mod open_execution;
pub mod open_execution_with_grant;
pub mod refund_expired_execution;
pub mod remove_resolver;
pub mod resolve_dispute;
pub mod revoke_spending;
pub mod set_agent_status;
pub mod set_paused;
mod shared;
pub mod suspend_agent;
pub mod update_config;
pub mod update_listing;
pub mod upsert_creator_profile;
pub mod verify_creator;
pub mod withdraw_collateral;

pub use accept_admin::*;
pub use announce_parameters::*;
pub use announce_roles::*;
pub use answer_dispute::*;
pub use apply_parameters::*;
pub use apply_roles::*;
pub use cancel_dispute::*;
pub use close_agent::*;
pub use close_execution::*;
pub use complete_execution::*;
pub use delist_agent::*;
pub use deposit_collateral::*;
pub use expire_dispute::*;
pub use fail_execution::*;
pub use grant_spending::*;
pub use initialize_config::*;
pub use list_agent::*;
pub use nominate_admin::*;
pub use open_dispute::*;
pub use open_execution::*;
pub use open_execution_with_grant::*;
pub use refund_expired_execution::*;
pub use remove_resolver::*;
pub use resolve_dispute::*;
pub use revoke_spending::*;
pub use set_agent_status::*;
pub use set_paused::*;
pub use suspend_agent::*;
pub use update_config::*;
pub use update_listing::*;
pub use upsert_creator_profile::*;
pub use verify_creator::*;
pub use withdraw_collateral::*;
