//! Measures the read API under load: one `crtx-server` with the role `api` over a seeded market, 50 connections.
//! Prints one JSON object for `cargo xtask bench reads`, progress on stderr.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a measuring program may stop at the first surprise"
)]

mod agents;
mod executions;
mod oha;
mod runner;
mod service;
mod walk;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use crtx_e2e::{bench::Row, process};
use serde_json::json;

use self::{oha::Oha, runner::Runner, service::Service};

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 100_000)]
    agents: u32,
    #[arg(long, default_value_t = 1_000_000)]
    executions: u32,
    /// Seconds of each case.
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// The load generator.
    #[arg(long)]
    oha: PathBuf,
    /// Only the cases whose names begin so. Can be repeated.
    #[arg(long)]
    only: Vec<String>,
    /// A database of a PostgreSQL on this machine, instead of a private one. It is filled if it is empty, and kept.
    #[arg(long)]
    database_url: Option<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let service = Service::start(arguments.agents, arguments.executions, arguments.database_url).await?;
    let oha = Oha::new(arguments.oha, arguments.seconds)?;
    let mut runner = Runner::new(&service, oha, arguments.only)?;
    if runner.wants_some_of("agent") {
        agents::measure(&mut runner, &service).await?;
    }
    executions::measure(&mut runner, &service).await?;
    let rss_mib = process::peak_memory_mib(service.api_pid())?;
    let mut rows = runner.into_rows();
    rows.push(Row::new("reads_rss_mib", rss_mib, "MiB"));
    rows.push(Row::new("reads_agents", arguments.agents.into(), ""));
    rows.push(Row::new("reads_executions", arguments.executions.into(), ""));
    rows.push(Row::new("reads_seed_s", service.seed_s, "s"));
    rows.push(Row::new("reads_first_list_ms", service.first_list_ms, "ms"));
    service.stop().await?;
    println!("{}", json!({ "results": rows }));
    Ok(())
}
