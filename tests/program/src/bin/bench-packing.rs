//! Prints how many paid calls fit into blocks as one JSON object: `cargo xtask bench packing` reads it.

use crtx_program_tests::{
    cu,
    packing::{self, TRAFFIC, Units},
};
use serde_json::json;

fn main() {
    let measured = cu::measure_compute_units();
    let units = |name| measured.iter().find(|row| row.name == name).map_or(0, |row| row.median);
    let units = Units {
        open: units("open_execution_with_grant_on_terms"),
        complete: units("complete_execution_bound"),
        fail: units("fail_execution"),
        close: units("close_execution_without_dispute"),
    };
    let mut results = Vec::new();
    for traffic in &TRAFFIC {
        let packed = packing::pack(traffic, units);
        let name = |figure| format!("pack_{}_{figure}", traffic.name);
        let row = |figure, value: f64, unit: &str| json!({"name": name(figure), "value": value.round(), "unit": unit});
        results.push(row("calls_per_s", packed.calls_per_s(), &format!("1/s ({})", packed.limit)));
        results.push(row("of_block", packed.block_percent, "%"));
    }
    println!("{}", json!({ "results": results }));
}
