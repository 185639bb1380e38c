//! The tests of this crate from outside: one program, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod admission;
mod agent_list;
mod api_keys;
mod callers;
mod disputes;
mod events;
mod execution_list;
mod executions;
mod held_content;
mod housekeeping;
mod list_plans;
mod local_network;
mod metadata;
mod mirror;
mod openings;
mod pools;
mod schema;
mod sessions;
mod totals;
mod transactions;
mod trust;
mod webhooks;
