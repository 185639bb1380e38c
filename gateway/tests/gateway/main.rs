//! The tests of this crate from outside: one program, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod admission;
mod agent_tests;
mod before_the_body;
mod content;
mod dispatch;
mod keys;
mod paid_call;
mod prices;
mod recovery;
mod sign_in;
mod support;
mod together;
mod unknown_outcomes;
mod webhooks;
