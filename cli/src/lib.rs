//! The parts of the `crtx` command.
#![forbid(unsafe_code)]

#[cfg(feature = "localnet")]
pub mod localnet;
pub mod logs;
