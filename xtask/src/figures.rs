//! Measured figures: kept as JSON in `docs/benchmarks/`, shown as tables in the documents.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::workspace;

/// The document with the tables.
pub const REPORT: &str = "docs/benchmarks.md";
/// The folder with one JSON file for each table.
pub const FOLDER: &str = "docs/benchmarks";

/// The figures of one benchmark.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub bench: String,
    /// Hash of the code that was measured ([`crate::source_hash::of_code`]).
    #[serde(default = "unknown")]
    pub code: String,
    pub machine: Machine,
    pub results: Vec<Row>,
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cores: usize,
    pub os: String,
    pub rustc: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub value: f64,
    pub unit: String,
    pub gate: Option<f64>,
    /// The gate is the smallest value that is accepted, not the largest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Whether the gate holds. A benchmark program does not say it.
    #[serde(default)]
    pub ok: bool,
}

/// A table with columns of its own, for figures that are no benchmark. A column with numbers stands on the right.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    pub columns: Vec<String>,
    /// Texts and numbers.
    pub rows: Vec<Vec<Value>>,
}

impl Grid {
    pub fn table(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let is_number = |column| self.rows.iter().any(|row| row.get(column).is_some_and(Value::is_number));
        let rulers: Vec<_> = (0..self.columns.len()).map(|at| if is_number(at) { "---:" } else { "---" }).collect();
        let cell = |cell: &Value| match cell {
            Value::String(text) => text.clone(),
            // Without the `.0` of a whole number.
            number => number.as_f64().map_or_else(String::new, |number| number.to_string()),
        };
        let rows = self.rows.iter().map(|row| line(row.iter().map(cell).collect()));
        format!("{}|{}|\n{}", line(self.columns.clone()), rulers.join("|"), rows.collect::<String>())
    }
}

impl Report {
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} cores, {}, {}, code {}\n\n| what | value | unit | gate | holds |\n|---|---:|---|---:|---|\n",
            self.machine.cores, self.machine.os, self.machine.rustc, self.code
        );
        for row in &self.results {
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
}

fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}.json")
}

/// Writes the JSON file of the benchmark `name`, and replaces its section of `docs/benchmarks.md` with the table.
pub fn keep(name: &str, heading: &str, figures: &impl Serialize, table: &str) -> Result<()> {
    let (json, report) = (workspace::root().join(path_of(name)), workspace::root().join(REPORT));
    fs::create_dir_all(workspace::root().join(FOLDER)).context(FOLDER)?;
    fs::write(&json, serde_json::to_string_pretty(figures)? + "\n").with_context(|| path_of(name))?;
    let text = fs::read_to_string(&report).unwrap_or_else(|_| {
        "# Benchmarks\n\n`cargo xtask bench` and `cargo xtask mutants` write the tables of this page.\n".to_owned()
    });
    fs::write(&report, with_section(&text, name, heading, table)).context(REPORT)
}

/// The committed figures of the benchmark `name`.
pub fn committed<F: DeserializeOwned>(name: &str) -> Result<F> {
    let path = path_of(name);
    let text = fs::read_to_string(workspace::root().join(&path)).with_context(|| format!("cannot read {path}"))?;
    serde_json::from_str(&text).with_context(|| path)
}

/// Begin and end of a section.
fn markers(name: &str) -> (String, String) {
    (format!("<!-- begin {name} -->"), format!("<!-- end {name} -->"))
}

fn with_section(text: &str, name: &str, heading: &str, table: &str) -> String {
    let (begin, end) = markers(name);
    let section = format!("{begin}\n## `{name}`: {heading}\n\n{table}{end}\n");
    match (text.split_once(&begin), text.split_once(&format!("{end}\n"))) {
        (Some((before, _)), Some((_, after))) => format!("{before}{section}{after}"),
        _ => {
            let (before, after) = text.split_at(end_of_last_section(text));
            format!("{}\n\n{section}{after}", before.trim_end())
        }
    }
}

/// Where a new section goes: behind the others, before the text that explains them.
fn end_of_last_section(text: &str) -> usize {
    let end = text.match_indices("<!-- end ").last().map_or(text.len(), |(at, _)| at);
    let line = text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| end.saturating_add(length));
    line.saturating_add(1).min(text.len())
}

/// The table of the section `name`, without its heading.
fn table_in<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (begin, end) = markers(name);
    let (section, _) = text.split_once(&begin)?.1.split_once(&end)?;
    let section = section.trim_start();
    if section.starts_with('#') { section.split_once("\n\n").map(|(_, table)| table) } else { Some(section) }
}

/// Names of the sections of a text.
fn sections(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("<!-- begin ")?.strip_suffix(" -->")).collect()
}

/// The table of a JSON file.
fn table_of(name: &str) -> Result<String> {
    let report = committed::<Report>(name).map(|report| report.table());
    report.or_else(|_| Ok(committed::<Grid>(name)?.table()))
}

/// Sections of documents that differ from the table of their JSON file, and JSON files that no document shows.
pub fn differing_tables(documents: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut shown = BTreeSet::new();
    for (document, text) in documents {
        for name in sections(text) {
            shown.insert(name.to_owned());
            if table_in(text, name) != Some(table_of(name)?.as_str()) {
                wrong.push(format!("{document}: the table `{name}` differs from {}", path_of(name)));
            }
        }
    }
    for entry in fs::read_dir(workspace::root().join(FOLDER)).context(FOLDER)? {
        let name = entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !shown.contains(&name) {
            wrong.push(format!("no document shows {}", path_of(&name)));
        }
    }
    Ok(wrong)
}

/// Value and unit of every committed figure, by the name of its row. Names are unique over all benchmarks.
pub fn by_name() -> Result<BTreeMap<String, (f64, String)>> {
    let text = fs::read_to_string(workspace::root().join(REPORT)).context(REPORT)?;
    let mut figures = BTreeMap::new();
    for name in sections(&text) {
        let Ok(report) = committed::<Report>(name) else { continue };
        for row in report.results {
            if figures.insert(row.name.clone(), (row.value, row.unit)).is_some() {
                bail!("two benchmarks have a figure `{}`", row.name);
            }
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, value: f64, gate: Option<f64>, at_least: bool) -> Row {
        Row { name: name.to_owned(), value, unit: "ms".to_owned(), gate, at_least, ok: true }
    }

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
    fn a_new_section_stands_before_the_text_that_explains_the_sections() {
        let one = with_section("# Benchmarks\n", "cu", "CU", "c\n") + "\n## Meaning\n\nWords.\n";
        let two = with_section(&one, "reads", "Reads", "r\n");
        let begins = ["<!-- begin cu -->", "<!-- begin reads -->", "## Meaning"].map(|text| two.find(text));
        assert!(begins.is_sorted() && begins.iter().all(Option::is_some), "{two}");
        assert!(two.ends_with("<!-- end reads -->\n\n## Meaning\n\nWords.\n"), "{two}");
    }

    #[test]
    fn the_table_of_a_section_is_read_back() {
        let text = with_section("# Benchmarks\n", "cu", "CU", "2 cores\n\n| `open` | 1 |\n");
        let text = with_section(&text, "execute", "Calls", "e\n");
        assert_eq!(table_in(&text, "cu"), Some("2 cores\n\n| `open` | 1 |\n"));
        assert_eq!(table_in(&text, "execute"), Some("e\n"));
        assert_eq!(table_in(&text, "gateway"), None);
        assert_eq!(sections(&text), ["cu", "execute"]);
    }

    #[test]
    fn figures_survive_json_and_show_their_gates() {
        let machine = Machine { cores: 2, os: "linux".to_owned(), rustc: "rustc".to_owned() };
        let results = vec![row("open", 8_373.0, None, false), row("calls", 199.2, Some(120.0), true)];
        let report = Report { bench: "cu".to_owned(), code: "0a1b".to_owned(), machine, results };
        let json = serde_json::to_string(&report).expect("JSON");
        assert_eq!(serde_json::from_str::<Report>(&json).expect("read back"), report);
        assert_eq!(
            report.table(),
            "2 cores, linux, rustc, code 0a1b\n\n| what | value | unit | gate | holds |\n|---|---:|---|---:|---|\n\
             | `open` | 8373 | ms | – | – |\n| `calls` | 199.2 | ms | ≥ 120 | yes |\n"
        );
    }

    #[test]
    fn a_table_of_its_own_columns_is_shown() {
        let json = r#"{"columns": ["Fault", "Times"], "rows": [["all", 58], ["one", 1.5]]}"#;
        let grid: Grid = serde_json::from_str(json).expect("a table");
        assert_eq!(grid.table(), "| Fault | Times |\n|---|---:|\n| all | 58 |\n| one | 1.5 |\n");
    }

    #[test]
    fn a_table_that_differs_from_its_json_is_found() {
        let changed = "<!-- begin cu -->\n## `cu`: CU\n\n| `open` | 1 |\n<!-- end cu -->\n".to_owned();
        let wrong = differing_tables(&BTreeMap::from([("a.md".to_owned(), changed)])).expect("compared");
        assert!(wrong.contains(&"a.md: the table `cu` differs from docs/benchmarks/cu.json".to_owned()), "{wrong:?}");
        assert!(wrong.contains(&"no document shows docs/benchmarks/execute.json".to_owned()), "{wrong:?}");
    }
}
