//! The gates on what the program costs, and its table: a figure must not exceed the committed one by more than 3 %.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use std::{collections::BTreeMap, fs, path::Path};

use crtx_program_tests::cu;

/// The committed values of `docs/benchmarks.md`, by name.
fn committed() -> BTreeMap<String, u64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let text = fs::read_to_string(path).expect("the table is there");
    text.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
            let name = cells.next()?.trim_end_matches('`').to_owned();
            Some((name, cells.next()?.parse().ok()?))
        })
        .collect()
}

#[test]
fn every_gate_holds_and_nothing_costs_three_percent_more_than_committed() {
    let units = cu::measure_compute_units().into_iter().map(|row| (row.name, row.median, row.gate));
    let costs = cu::measure_costs().into_iter().map(|row| (row.name, row.value, row.gate));
    let committed = committed();
    for (name, value, gate) in units.chain(costs) {
        assert!(gate.is_none_or(|gate| value <= gate), "{name}: {value} is over its gate {gate:?}");
        let known = committed.get(name).unwrap_or_else(|| panic!("{name} is not in docs/benchmarks.md"));
        assert!(value * 100 <= known * 103, "{name}: {value} is over 3 % more than the committed {known}");
    }
}
