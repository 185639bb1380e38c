//! The chain as the services see it: the program's accounts and instructions, one RPC client at
//! `confirmed`, and a way to send a transaction after which no outcome is guessed.
#![forbid(unsafe_code)]

pub mod account;

pub use account::{DecodeError, Layout, ProgramAccount};
