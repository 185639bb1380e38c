//! `cargo xtask bench <name>`: runs a benchmark program of the workspace, prints its table, and keeps
//! `docs/benchmarks.md`. Each program prints one JSON object: `{"results":[{name, value, unit, gate}]}`.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::workspace;

const REPORT: &str = "docs/benchmarks.md";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Compute units of each instruction, from the committed ELF.
    Cu,
    /// Latency of a paid call on the local network, release build.
    Execute,
}

impl Name {
    const fn text(self) -> &'static str {
        match self {
            Self::Cu => "cu",
            Self::Execute => "execute",
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Cu => "Compute units per instruction (committed ELF, LiteSVM, median over 20 random keys)",
            Self::Execute => "A paid call on the local network (release build, `text-stats`, sequential)",
        }
    }
}

/// What a benchmark program prints.
#[derive(Deserialize)]
struct Measured {
    results: Vec<MeasuredRow>,
}

#[derive(Deserialize)]
struct MeasuredRow {
    name: String,
    value: f64,
    unit: String,
    gate: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    machine: Machine,
    results: Vec<Row>,
}

#[derive(Serialize)]
struct Machine {
    cores: usize,
    os: String,
    rustc: String,
}

#[derive(Serialize)]
struct Row {
    name: String,
    value: f64,
    unit: String,
    gate: Option<f64>,
    ok: bool,
}

pub fn run(name: Name, json: bool) -> Result<()> {
    let printed = workspace::output(command(name)?.stderr(std::process::Stdio::inherit()))?;
    let measured: Measured = serde_json::from_str(&printed).context("the benchmark did not print its results")?;
    let report =
        Report { bench: name.text(), machine: machine()?, results: measured.results.into_iter().map(row).collect() };
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        let table = table(&report);
        println!("{table}");
        keep_section(name.text(), name.heading(), &table)?;
    }
    let missed: Vec<_> = report.results.iter().filter(|row| !row.ok).map(|row| row.name.as_str()).collect();
    if !missed.is_empty() {
        bail!("over the gate: {}", missed.join(", "));
    }
    Ok(())
}

fn command(name: Name) -> Result<Command> {
    let mut command = workspace::cargo();
    match name {
        Name::Cu => {
            command.args(["run", "--quiet", "--locked", "--package", "crtx-program-tests", "--bin", "bench-cu"]);
        }
        Name::Execute => {
            workspace::run(workspace::cargo().args(["build", "--release", "--locked", "--package", "crtx-cli"]))?;
            command.args(["run", "--quiet", "--locked", "--package", "crtx-e2e", "--bin", "bench-execute"]);
            command.env("CRTX_BIN", workspace::root().join("target/release/crtx"));
        }
    }
    Ok(command)
}

fn row(measured: MeasuredRow) -> Row {
    let ok = measured.gate.is_none_or(|gate| measured.value <= gate);
    Row { name: measured.name, value: measured.value, unit: measured.unit, gate: measured.gate, ok }
}

fn machine() -> Result<Machine> {
    Ok(Machine {
        cores: std::thread::available_parallelism()?.get(),
        os: std::env::consts::OS.to_owned(),
        rustc: workspace::output(Command::new("rustc").arg("--version"))?.trim().to_owned(),
    })
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{} cores, {}, {}\n\n| what | value | unit | gate | holds |\n|---|---:|---|---:|---|\n",
        report.machine.cores, report.machine.os, report.machine.rustc
    );
    for row in &report.results {
        let gate = row.gate.map_or_else(|| "–".to_owned(), |gate| gate.to_string());
        let holds = match (row.gate, row.ok) {
            (None, _) => "–",
            (Some(_), true) => "yes",
            (Some(_), false) => "NO",
        };
        text += &format!("| `{}` | {} | {} | {gate} | {holds} |\n", row.name, row.value, row.unit);
    }
    text
}

/// Replaces the section `name` of `docs/benchmarks.md`.
pub fn keep_section(name: &str, heading: &str, table: &str) -> Result<()> {
    let path = workspace::root().join(REPORT);
    let text = fs::read_to_string(&path).unwrap_or_else(|_| {
        "# Benchmarks\n\nWritten by `cargo xtask bench <name>` and `cargo xtask mutants`.\n".to_owned()
    });
    fs::write(&path, with_section(&text, name, heading, table)).context(REPORT)
}

fn with_section(text: &str, name: &str, heading: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->"), format!("<!-- end {name} -->"));
    let section = format!("{begin}\n## `{name}`: {heading}\n\n{table}{end}\n");
    match (text.split_once(&begin), text.split_once(&format!("{end}\n"))) {
        (Some((before, _)), Some((_, after))) => format!("{before}{section}{after}"),
        _ => format!("{}\n\n{section}", text.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_added_once_and_replaced_after() {
        let first = with_section("# Benchmarks\n", "cu", "CU", "old\n");
        let other = with_section(&first, "execute", "Calls", "e\n");
        let second = with_section(&other, "cu", "CU", "new\n");
        assert!(!second.contains("old"));
        assert_eq!(second.matches("## `cu`").count(), 1);
        assert!(second.contains("new") && second.contains("e\n"));
    }
}
