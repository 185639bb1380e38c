//! The marketplace under faults. Support that every fault test shares: real processes that can be killed,
//! paused and restarted, a scripted RPC node in front of the real one, scripted creators, wallets with keys,
//! and clients that write down what they were answered. On top of it the crash campaign: a plan drawn from
//! a seed, and a checker that compares the chain, the database and the clients' own notes afterwards.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "test support: what cannot work ends the test with its reason"
)]

pub mod callers;
pub mod campaign;
pub mod cast;
pub mod check;
pub mod client;
pub mod creator;
pub mod denial;
pub mod event_campaign;
pub mod http_proxy;
pub mod inject;
pub mod link;
pub mod machines;
pub mod market;
pub mod notes;
pub mod plan;
pub mod postgres;
pub mod preload;
pub mod process;
pub mod receivers;
pub mod report;
pub mod rpc_proxy;
pub mod world;
