//! The parts of the `crtx` command.
#![forbid(unsafe_code)]

pub mod api;
pub mod execute;
#[cfg(feature = "localnet")]
pub mod localnet;
pub mod logs;
pub mod usage;
pub mod verify;
