//! Logs go to standard error, warnings and errors unless `RUST_LOG` says otherwise. One event is one printable line,
//! whatever a node or a service wrote into it.

use std::io;

use crtx_http::log::OneLine;
use tracing_subscriber::EnvFilter;

/// PostgreSQL's notices are about statements that were cut off by a stop; nobody can act on them.
const DEFAULT: &str = "warn,sqlx::postgres::notice=error";

pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    // Fails only where a subscriber is set already, as in tests.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(|| OneLine(io::stderr()))
        .try_init();
}
