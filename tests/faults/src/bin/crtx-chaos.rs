//! A crash campaign of any length: `cargo xtask chaos` builds and runs it.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use crtx_faults::{
    campaign::{self, Options},
    report::PRINTED_VIOLATIONS,
};

/// Breaks a marketplace again and again while it is used, and checks that nobody lost anything
#[derive(Parser)]
struct Arguments {
    /// Faults in all.
    #[arg(long)]
    faults: usize,
    /// The same seed gives the same plan.
    #[arg(long)]
    seed: u64,
    /// Where logs, and the data of a campaign that found something, are kept.
    #[arg(long)]
    folder: PathBuf,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Arguments { faults, seed, folder } = Arguments::parse();
    let report = campaign::run(&Options { seed, faults, folder }).await?;
    println!("{}", report.table());
    if report.violations.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}", report.violations_text(PRINTED_VIOLATIONS));
    eprintln!("seed {seed}: {} violations; logs in {}", report.violations.len(), report.logs.display());
    if let Some(kept) = &report.kept {
        eprintln!("the marketplace's data is kept in {}", kept.display());
    }
    Ok(ExitCode::FAILURE)
}
