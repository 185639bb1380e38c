//! Ctrl-C and SIGTERM: the first stops cleanly, the second at once.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit status after a second signal, as shells count them.
const FORCED: i32 = 130;

pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on the signals no longer end the process by themselves.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("SIGINT cannot be handled")?,
            terminate: signal(SignalKind::terminate()).context("SIGTERM cannot be handled")?,
        })
    }

    /// Waits for a signal and names it.
    pub async fn first(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }

    /// The next signal ends the process. PostgreSQL notices and shuts down by itself.
    pub fn second_one_exits(mut self) {
        tokio::spawn(async move {
            let name = self.first().await;
            eprintln!("{name} again: not waiting any longer");
            std::process::exit(FORCED);
        });
    }
}
