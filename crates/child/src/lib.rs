//! Servers as child processes: they end with this process, however it ends, and listen on ports that nobody else uses.
#![forbid(unsafe_code)]

mod ports;
mod supervised;

pub use ports::{ValidatorPorts, free_port};
pub use supervised::{Signals, supervised};
