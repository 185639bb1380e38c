//! The tests of this crate from outside: one program, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod audit;
mod chain;
mod digests;
mod documents;
mod endpoints;
mod faulty_node;
mod forking;
mod histories;
mod late_stream;
mod leadership;
mod node;
mod rebuild;
mod slots;
mod snapshots;
mod sync;
mod truth;
mod two_nodes;
mod websocket;
mod yellowstone;
