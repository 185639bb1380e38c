//! The event log under kills: `cargo xtask chaos --events` builds and runs it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use crtx_faults::event_campaign::{self, Options};

/// Kills everything that numbers, streams and sends events, and checks that every receiver has every event once
#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    events: u64,
    #[arg(long)]
    kills: usize,
    #[arg(long)]
    seed: u64,
    /// For the logs of the processes.
    #[arg(long)]
    folder: PathBuf,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { events, kills, seed, folder } = Arguments::parse();
    let report = event_campaign::run(&Options { events, kills, seed }, &folder).await?;
    println!(
        "{} events by streams and webhooks, {} kills ({} of PostgreSQL, {} of workers), {} deliveries came again, {} s, \
         seed {seed}: no hole, no event twice, none in another order",
        report.events,
        report.kills,
        report.databases,
        report.workers,
        report.repeated,
        report.took.as_secs()
    );
    Ok(())
}
