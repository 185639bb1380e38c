//! The parts of the `crtx` command.
#![forbid(unsafe_code)]

pub mod api;
pub mod execute;
pub mod logs;
#[cfg(feature = "localnet")]
pub mod up;
pub mod usage;
pub mod verify;
