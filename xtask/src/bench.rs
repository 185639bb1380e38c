//! `cargo xtask bench <name>`: runs a benchmark program of the workspace, prints its table, and keeps its figures.
//! Each program prints one JSON object: `{"results":[{name, value, unit, gate}]}`, and `at_least: true` where the
//! gate is the smallest value that is accepted.

use std::{collections::BTreeMap, process::Command};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::{
    browser,
    figures::{self, Machine, REPORT, Report, Row},
    load_generator, source_hash, validator, workspace,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Compute units of each instruction, from the committed ELF.
    Cu,
    /// Latency of a paid call on the local network, release build.
    Execute,
    /// Paid calls under load: through the whole system, and through a gateway with chain and creator stubbed.
    Gateway,
    /// Paid calls and single confirmations on Agave's validator.
    Network,
    /// Paid calls that fit into blocks of Solana, by what limits them.
    Packing,
    /// One, two and four gateways over one database.
    Scale,
    /// Lists and single reads of the API over a seeded market, with 50 connections.
    Reads,
    /// The indexer over a scripted node with a million accounts: updates, resyncs, a rebuild.
    Ingest,
    /// Event streams of one process: the memory of a thousand that wait, and how long events take to a hundred.
    Events,
    /// What the Rust library and `crtx agent serve` add to a request of a seller's service.
    Seller,
    /// Chromium on the local network: what a visitor of the first page loads and waits for, and who pays or pauses.
    Dashboard,
}

/// Everything that a paid call runs through.
const SERVICES: [&str; 7] =
    ["programs/agent-marketplace/artifacts", "crates", "gateway", "indexer", "server", "cli/src", "migrations"];

impl Name {
    fn text(self) -> String {
        workspace::name_of(&self)
    }

    /// The code whose change makes its figures old.
    const fn code(self) -> &'static [&'static str] {
        match self {
            Self::Cu => &["programs/agent-marketplace/artifacts"],
            Self::Events | Self::Execute | Self::Gateway | Self::Network | Self::Scale => &SERVICES,
            Self::Packing => &["programs/agent-marketplace/artifacts", "crates/chain", "crates/protocol"],
            Self::Reads => &["crates", "indexer", "server", "migrations"],
            Self::Ingest => &["crates", "indexer", "migrations"],
            Self::Seller => &["crates", "sdk/rust/src", "cli/src"],
            Self::Dashboard => &["app/src", "crates", "indexer", "server", "migrations"],
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Cu => {
                "Compute units of every instruction (median over 20 random keys), bytes, fees, rent: committed ELF, LiteSVM"
            }
            Self::Execute => "A paid call on the local network (release build, `text-stats`, sequential)",
            Self::Gateway => {
                "Paid calls under load (release build): N callers of the whole system, and the gateway alone against \
                 stubs of chain and creator"
            }
            Self::Network => "Paid calls on Agave's validator (release build, `text-stats`): slots of 400 ms",
            Self::Packing => {
                "Paid calls that fit into the blocks of Solana, with nobody else's in them, counted as an Agave leader \
                 does: in brackets what is full"
            }
            Self::Scale => {
                "One, two and four gateways (release build) over one PostgreSQL, with the same load and with stubs of \
                 chain and creator"
            }
            Self::Reads => {
                "The read API under load (release build): one process, 50 connections of `oha`, a seeded market"
            }
            Self::Ingest => "The indexer (release build) over a scripted node and a durable PostgreSQL",
            Self::Events => {
                "Event streams of one process (release build): 1 000 that wait, and 100 that get 100 events/s each"
            }
            Self::Seller => {
                "What a seller's side adds (release build) to a request with a result of 10 kB, next to axum alone: the \
                 Rust library, and `crtx agent serve` in front of that service"
            }
            Self::Dashboard => {
                "The dashboard (release build) in Chromium: 30 visits with an empty cache, 5 with slow 4G and a quarter of \
                 the processor, 9 more with presses and keys, 10 calls, 10 pauses"
            }
        }
    }
}

/// What a benchmark program prints.
#[derive(Deserialize)]
struct Measured {
    results: Vec<Row>,
}

/// How large the measured market is. What is left out is the program's own default.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Size {
    /// `reads`: listings.
    #[arg(long)]
    agents: Option<u32>,
    /// `reads`: executions on chain.
    #[arg(long)]
    executions: Option<u32>,
    /// `ingest`: accounts of the program.
    #[arg(long)]
    accounts: Option<u32>,
}

impl Size {
    pub const fn of_market(agents: u32, executions: u32) -> Self {
        Self { agents: Some(agents), executions: Some(executions), accounts: None }
    }

    /// The arguments for the benchmark program.
    fn arguments(&self, name: Name) -> Result<Vec<String>> {
        let flags = [
            ("--agents", self.agents, Name::Reads),
            ("--executions", self.executions, Name::Reads),
            ("--accounts", self.accounts, Name::Ingest),
        ];
        let mut arguments = Vec::new();
        for (flag, value, of) in flags {
            let Some(value) = value else { continue };
            if name != of {
                bail!("`{flag}` is an option of `bench {}`", of.text());
            }
            arguments.extend([flag.to_owned(), value.to_string()]);
        }
        Ok(arguments)
    }
}

/// The benchmarks whose committed figures are of other code than this, as a sentence.
pub fn older_code() -> Result<String> {
    let mut older = Vec::new();
    for name in Name::value_variants() {
        let code = source_hash::of_code(name.code())?;
        // One that was never kept is old as well.
        if figures::committed::<Report>(&name.text()).ok().is_none_or(|report| report.code != code) {
            older.push(name.text());
        }
    }
    let older = if older.is_empty() { "none".to_owned() } else { older.join(", ") };
    Ok(format!("figures: of older code than this: {older}"))
}

pub fn run(name: Name, size: &Size, json: bool) -> Result<()> {
    let report = measure(name, size)?;
    ensure!(
        report.code == source_hash::of_code(name.code())?,
        "the code changed while it was measured: nothing is kept"
    );
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        let table = report.table();
        println!("{table}");
        figures::keep(&name.text(), name.heading(), &report, &table)?;
        eprintln!("{}", older_code()?);
    }
    let missed: Vec<_> = report.results.iter().filter(|row| !row.ok).map(|row| row.name.as_str()).collect();
    if !missed.is_empty() {
        bail!("gates that do not hold: {}", missed.join(", "));
    }
    Ok(())
}

/// Runs the benchmark and reads what it prints.
pub fn measure(name: Name, size: &Size) -> Result<Report> {
    let arguments = size.arguments(name)?;
    let code = source_hash::of_code(name.code())?;
    let printed = workspace::output(command(name)?.args(arguments).stderr(std::process::Stdio::inherit()))?;
    let measured: Measured = serde_json::from_str(&printed).context("the benchmark did not print its results")?;
    Ok(Report {
        bench: name.text(),
        code,
        machine: machine()?,
        results: measured.results.into_iter().map(judged).collect(),
    })
}

/// Percent by which a figure of the table `cu` may grow before it has to be committed again.
const TOLERANCE_PERCENT: f64 = 3.0;

/// Measures the table `cu` again, over the same keys, and fails where a figure missed its gate or grew by
/// more than the tolerance over the committed one.
pub fn check_cu() -> Result<String> {
    let before = figures::committed::<Report>(&Name::Cu.text())?.results;
    let mut committed: BTreeMap<_, _> = before.into_iter().map(|row| (row.name, row.value)).collect();
    let report = measure(Name::Cu, &Size::default())?;
    let mut complaints = Vec::new();
    for row in &report.results {
        match committed.remove(&row.name) {
            None => complaints.push(format!("{} is not in the table", row.name)),
            Some(before) if row.value > before * (1.0 + TOLERANCE_PERCENT / 100.0) => {
                complaints.push(format!("{} went from {before} to {} {}", row.name, row.value, row.unit));
            }
            Some(_) if !row.ok => complaints.push(format!("the gate of {} does not hold", row.name)),
            Some(_) => {}
        }
    }
    complaints.extend(committed.keys().map(|name| format!("{name} is not measured any more")));
    if !complaints.is_empty() {
        bail!("{REPORT}: {}; `cargo xtask bench cu` writes the table", complaints.join(", "));
    }
    Ok(format!("cu: {} figures within their gates and {TOLERANCE_PERCENT} % of {REPORT}", report.results.len()))
}

fn command(name: Name) -> Result<Command> {
    let program = match name {
        Name::Cu | Name::Packing => {
            workspace::build_binaries()?;
            return Ok(Command::new(workspace::binary(&format!("bench-{}", name.text()))));
        }
        Name::Events => "bench-events",
        Name::Execute => "bench-execute",
        Name::Gateway | Name::Scale => "bench-gateway",
        Name::Network => "bench-network",
        Name::Reads => "bench-reads",
        Name::Ingest => "bench-ingest",
        Name::Seller => "bench-seller",
        Name::Dashboard => {
            workspace::build_release_binaries()?;
            return browser::benchmark(&workspace::release_binary("crtx"));
        }
    };
    workspace::build_release_binaries()?;
    let mut command = Command::new(workspace::release_binary(program));
    command.env("CRTX_BIN", workspace::release_binary("crtx"));
    if name == Name::Scale {
        command.arg("scale");
    }
    if name == Name::Network {
        command.env(validator::UP_VARIABLE, validator::installed(None)?);
    }
    if name == Name::Reads {
        command.arg("--oha").arg(load_generator::installed()?);
    }
    Ok(command)
}

fn judged(row: Row) -> Row {
    let ok = row.gate.is_none_or(|gate| if row.at_least { row.value >= gate } else { row.value <= gate });
    Row { ok, ..row }
}

fn machine() -> Result<Machine> {
    Ok(Machine {
        cores: std::thread::available_parallelism()?.get(),
        os: std::env::consts::OS.to_owned(),
        rustc: workspace::output(Command::new("rustc").arg("--version"))?.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_the_most_that_is_allowed_or_the_least_that_is_wanted() {
        let measured = |value, at_least| {
            judged(Row { name: "x".to_owned(), value, unit: "ms".to_owned(), gate: Some(5.0), at_least, ok: false }).ok
        };
        let allowed = [4.0, 5.0, 6.0].map(|value| measured(value, false));
        let wanted = [4.0, 5.0, 6.0].map(|value| measured(value, true));
        assert_eq!((allowed, wanted), ([true, true, false], [false, true, true]));
    }

    #[test]
    fn a_size_is_accepted_by_its_own_benchmark_alone() {
        let size = Size::of_market(10, 20);
        let arguments = size.arguments(Name::Reads).expect("arguments");
        assert_eq!(arguments, ["--agents", "10", "--executions", "20"]);
        let refused = size.arguments(Name::Ingest).expect_err("agents are no size of this benchmark");
        assert_eq!(refused.to_string(), "`--agents` is an option of `bench reads`");
    }
}
