//! The tests of this crate from outside: one program, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod agent_health;
mod agent_list;
mod agent_names;
mod agents;
mod agents_over_http;
mod badges;
mod common;
mod disputes;
mod events;
mod execution_list;
mod execution_totals;
mod executions_over_http;
mod listings;
mod read_api;
mod starvation;
mod status;
mod wallets;
