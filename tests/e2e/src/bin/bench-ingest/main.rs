//! Measures the indexer: a `crtx-server` with the role `indexer` over a durable PostgreSQL and a scripted node with a
//! million accounts, which is a process of its own (this program with the argument `node`).
//! Prints one JSON object for `cargo xtask bench ingest`, progress on stderr.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a measuring program may stop at the first surprise"
)]

mod chain;
mod clock;
mod filters;
mod market;
mod node;
mod node_state;
mod orders;
mod phases;
mod rpc;
mod socket;
mod subscribers;
mod watch;

use anyhow::Result;
use clap::{Parser, Subcommand};
use serde_json::json;

#[derive(Parser)]
struct Arguments {
    /// Accounts of the program.
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u32,
    /// Seconds of each stream of changes.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the scripted node alone.
    Node,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.command.is_some() {
        return node::run(arguments.accounts).await;
    }
    let rows = phases::measure(arguments.accounts, arguments.seconds).await?;
    println!("{}", json!({ "results": rows }));
    Ok(())
}
