//! `cargo xtask chaos`: builds the services and the crash campaign, and runs a campaign of any length.

use std::{
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Result;

use crate::workspace;

/// Progress goes to standard error; the table of faults, and the reports of what went wrong, to standard output.
pub fn run(faults: usize, events: Option<u64>, seed: Option<u64>) -> Result<()> {
    workspace::build_binaries()?;
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    let seed_text = seed.to_string();
    if let Some(events) = events {
        let kills = events.div_ceil(1_000).to_string();
        eprintln!("=== chaos: {events} events, {kills} kills, seed {seed}");
        let mut command = Command::new(workspace::binary("crtx-event-chaos"));
        command
            .args(["--events", &events.to_string(), "--kills", &kills, "--seed", &seed_text, "--folder"])
            .arg(workspace::root().join("target/event-log"))
            .env("CRTX_BIN", workspace::binary("crtx"));
        return workspace::run(&mut command);
    }
    eprintln!("=== chaos: {faults} faults, seed {seed}");
    let mut command = Command::new(workspace::binary("crtx-chaos"));
    command
        .args(["--faults", &faults.to_string(), "--seed", &seed_text, "--folder"])
        .arg(workspace::root().join("target/chaos"))
        .env("CRTX_BIN", workspace::binary("crtx"));
    workspace::run(&mut command)
}
