//! Logs go to standard error, warnings and errors unless `RUST_LOG` says otherwise. One event is one printable line,
//! whatever a node or a service wrote into it.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::output::error_line;

/// PostgreSQL's notices are about statements that were cut off by a stop; nobody can act on them.
const DEFAULT: &str = "warn,sqlx::postgres::notice=error";

pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    // Fails only where a subscriber is set already, as in tests.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| Lines).try_init();
}

/// The subscriber writes one event at once.
struct Lines;

impl io::Write for Lines {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        error_line(format_args!("{}", String::from_utf8_lossy(event).trim_end_matches('\n')));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
