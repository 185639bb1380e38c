//! `cargo xtask bench reads --growth`: the read API at three sizes of the market, as a table.

use anyhow::{Result, bail};
use serde_json::json;

use crate::{
    bench::{self, Name, Size},
    figures::{self, Grid, Report},
};

/// Agents, and as many executions, as the table shows them.
const SIZES: [(u32, &str); 3] = [(10_000, "10 000"), (100_000, "100 000"), (1_000_000, "1 000 000")];

pub fn run(name: Name) -> Result<()> {
    if name != Name::Reads {
        bail!("`--growth` is an option of `bench reads`");
    }
    let measure = |(size, shown): &(u32, &str)| {
        eprintln!("{shown} agents, {shown} executions");
        bench::measure(name, &Size::of_market(*size, *size))
    };
    let reports = SIZES.iter().map(measure).collect::<Result<Vec<_>>>()?;
    let grid = grid(&reports);
    let table = grid.table();
    println!("{table}");
    let heading =
        "The read API at three sizes: as many executions as agents (what is not 1/s has its unit in its name)";
    figures::keep("growth", heading, &grid, &table)
}

/// A row for each figure with a rate, a time or a size.
fn grid(reports: &[Report]) -> Grid {
    let names = reports.first().into_iter().flat_map(|report| &report.results).map(|row| row.name.as_str());
    let shown = |name: &&str| ["_rps", "_ms", "_mib", "_s"].iter().any(|end| name.ends_with(end));
    let row = |name: &str| {
        // 0 where it was not measured.
        let value = |report: &Report| report.results.iter().find(|row| row.name == name).map_or(0.0, |row| row.value);
        [json!(format!("`{name}`"))].into_iter().chain(reports.iter().map(|report| json!(value(report)))).collect()
    };
    let columns = ["Figure"].into_iter().chain(SIZES.map(|(_, shown)| shown)).map(str::to_owned).collect();
    Grid { columns, rows: names.filter(shown).map(row).collect() }
}
