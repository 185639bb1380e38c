//! The parts of the `crtx` command.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod admin;
pub mod agent;
pub mod api;
pub mod arguments;
pub mod asker;
pub mod audit;
pub mod case;
pub mod config;
pub mod content;
pub mod dispute;
pub mod doctor;
pub mod evidence;
pub mod execute;
pub mod execution_ref;
pub mod executions;
pub mod keypair_file;
pub mod keys;
pub mod market;
pub mod output;
pub mod private_file;
pub mod progress;
pub mod refund;
pub mod resolver;
pub mod settings;
pub mod settle;
pub mod transaction;
#[cfg(feature = "localnet")]
pub mod up;
pub mod usage;
pub mod verify;
pub mod waiting;
pub mod wallet;
