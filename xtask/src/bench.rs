//! `cargo xtask bench <name>`: runs a benchmark program of the workspace, prints its table, and keeps
//! `docs/benchmarks.md`. Each program prints one JSON object: `{"results":[{name, value, unit, gate}]}`, and
//! `at_least: true` where the gate is the least that is wanted.

use std::{collections::BTreeMap, fs, process::Command};

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
    /// Paid calls under load: through the whole system, and through a gateway with chain and creator stubbed.
    Gateway,
}

impl Name {
    const fn text(self) -> &'static str {
        match self {
            Self::Cu => "cu",
            Self::Execute => "execute",
            Self::Gateway => "gateway",
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
    #[serde(default)]
    at_least: bool,
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
    #[serde(skip)]
    at_least: bool,
    ok: bool,
}

pub fn run(name: Name, json: bool) -> Result<()> {
    let report = measure(name)?;
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        let table = table(&report);
        println!("{table}");
        keep_section(name.text(), name.heading(), &table)?;
    }
    let missed: Vec<_> = report.results.iter().filter(|row| !row.ok).map(|row| row.name.as_str()).collect();
    if !missed.is_empty() {
        bail!("gates that do not hold: {}", missed.join(", "));
    }
    Ok(())
}

fn measure(name: Name) -> Result<Report> {
    let printed = workspace::output(command(name)?.stderr(std::process::Stdio::inherit()))?;
    let measured: Measured = serde_json::from_str(&printed).context("the benchmark did not print its results")?;
    Ok(Report { bench: name.text(), machine: machine()?, results: measured.results.into_iter().map(row).collect() })
}

/// Percent by which a figure of the table `cu` may grow before it has to be committed anew.
const TOLERANCE_PERCENT: f64 = 3.0;

/// Measures the table `cu` again, over the same keys, and fails where a figure missed its gate or grew by
/// more than the tolerance over the committed one.
pub fn check_cu() -> Result<String> {
    let text = fs::read_to_string(workspace::root().join(REPORT)).with_context(|| format!("cannot read {REPORT}"))?;
    let mut committed = committed(&text, Name::Cu.text());
    let report = measure(Name::Cu)?;
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

/// Names and values of the committed section `name`.
fn committed(text: &str, name: &str) -> BTreeMap<String, f64> {
    let (begin, end) = (format!("<!-- begin {name} -->"), format!("<!-- end {name} -->"));
    let section =
        text.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map_or("", |(section, _)| section);
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.strip_suffix('`')?.to_owned();
        Some((name, cells.next()?.trim().parse().ok()?))
    };
    section.lines().filter_map(row).collect()
}

fn command(name: Name) -> Result<Command> {
    let program = match name {
        Name::Cu => {
            workspace::build_binaries()?;
            return Ok(Command::new(workspace::binary("bench-cu")));
        }
        Name::Execute => "bench-execute",
        Name::Gateway => "bench-gateway",
    };
    workspace::build_release_binaries()?;
    let mut command = Command::new(workspace::release_binary(program));
    command.env("CRTX_BIN", workspace::release_binary("crtx"));
    Ok(command)
}

fn row(measured: MeasuredRow) -> Row {
    let MeasuredRow { name, value, unit, gate, at_least } = measured;
    let ok = gate.is_none_or(|gate| if at_least { value >= gate } else { value <= gate });
    Row { name, value, unit, gate, at_least, ok }
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
        let gate = match row.gate {
            None => "–".to_owned(),
            Some(gate) if row.at_least => format!("≥ {gate}"),
            Some(gate) => gate.to_string(),
        };
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

    #[test]
    fn a_gate_is_the_most_that_is_allowed_or_the_least_that_is_wanted() {
        let measured = |value, at_least| {
            row(MeasuredRow { name: "x".to_owned(), value, unit: "ms".to_owned(), gate: Some(5.0), at_least }).ok
        };
        let allowed = [4.0, 5.0, 6.0].map(|value| measured(value, false));
        let wanted = [4.0, 5.0, 6.0].map(|value| measured(value, true));
        assert_eq!((allowed, wanted), ([true, true, false], [false, true, true]));
    }

    #[test]
    fn a_committed_table_is_read_back() {
        let row = |name: &str, value| Row {
            name: name.to_owned(),
            value,
            unit: "CU".to_owned(),
            gate: None,
            at_least: false,
            ok: true,
        };
        let machine = Machine { cores: 2, os: "linux".to_owned(), rustc: "rustc".to_owned() };
        let report = Report { bench: "cu", machine, results: vec![row("open", 8_373.0), row("fee", 0.5)] };
        let text = with_section("# Benchmarks\n", "cu", "CU", &table(&report));
        let other = with_section(&text, "execute", "Calls", "| `open` | 1 | ms | – | – |\n");
        let expected = BTreeMap::from([("open".to_owned(), 8_373.0), ("fee".to_owned(), 0.5)]);
        assert_eq!(committed(&other, "cu"), expected);
    }
}
