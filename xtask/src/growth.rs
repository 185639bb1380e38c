//! `cargo xtask bench reads --growth`: the read API at three sizes of the market, as a table.

use anyhow::{Result, bail};
use serde_json::json;

use crate::{
    bench::{self, Name, Size},
    figures::{self, Figures, Grid, Report},
};

/// Agents, and as many executions.
const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];

pub fn run(name: Name) -> Result<()> {
    if name != Name::Reads {
        bail!("`--growth` is an option of `bench reads`");
    }
    let measure = |size: &u32| {
        eprintln!("{size} agents, {size} executions");
        bench::measure(name, &Size::of_market(*size, *size))
    };
    let reports = SIZES.iter().map(measure).collect::<Result<Vec<_>>>()?;
    let grid = grid(&reports);
    println!("{}", grid.table());
    let heading =
        "The read API at three sizes: as many executions as agents (what is not 1/s has its unit in its name)";
    figures::keep("growth", heading, &grid)
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
    let columns = ["Figure".to_owned()].into_iter().chain(SIZES.map(grouped)).collect();
    Grid { columns, rows: names.filter(shown).map(row).collect() }
}

/// A number with a space before each three digits.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().wrapping_sub(index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        assert_eq!([7, 10_000, 1_000_000].map(grouped), ["7", "10 000", "1 000 000"]);
    }
}
