//! The indexer: mirrors the program's accounts into PostgreSQL and serves the read API over the mirror.
//!
//! [`run`] keeps the mirror true: a stream of changes, snapshots that repair what a stream misses, and
//! metadata documents. [`api::router`] answers from the mirror and needs none of that in its process.
#![forbid(unsafe_code)]

pub mod api;
