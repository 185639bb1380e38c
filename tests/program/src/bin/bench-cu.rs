//! Prints the compute units of every instruction and what else the program costs as one JSON object:
//! `cargo xtask bench cu` reads it.

use crtx_program_tests::cu;
use serde_json::json;

fn main() {
    let units = cu::measure_compute_units();
    let units = units.iter().map(|row| json!({"name": row.name, "value": row.median, "unit": "CU", "gate": row.gate}));
    let costs = cu::measure_costs();
    let costs =
        costs.iter().map(|row| json!({"name": row.name, "value": row.value, "unit": row.unit, "gate": row.gate}));
    println!("{}", json!({ "results": units.chain(costs).collect::<Vec<_>>() }));
}
