//! The event log under kills: `cargo xtask chaos --events` builds and runs it.

use anyhow::Result;
use clap::{Parser, Subcommand};
use crtx_faults::event_campaign::{self, Options};

/// Kills everything that writes, numbers and delivers events, and checks that every receiver has every event once
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// The campaign.
    Run {
        #[arg(long)]
        events: u64,
        #[arg(long)]
        kills: usize,
        #[arg(long)]
        seed: u64,
    },
    /// A process that numbers events.
    Number { url: String },
    /// A process that delivers the events of one wallet.
    Deliver { url: String, wallet: u8 },
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().part {
        Part::Run { events, kills, seed } => {
            let program = std::env::current_exe()?;
            let report = event_campaign::run(&Options { events, kills, seed, program }).await?;
            println!(
                "{} events, {} kills ({} of PostgreSQL), {} s, seed {seed}: no hole, no event twice, none in another order",
                report.events,
                report.kills,
                report.databases,
                report.took.as_secs()
            );
            Ok(())
        }
        Part::Number { url } => event_campaign::number(&url).await,
        Part::Deliver { url, wallet } => event_campaign::deliver(&url, wallet).await,
    }
}
