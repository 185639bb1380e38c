//! Prints the compute units of every instruction as one JSON object: `cargo xtask bench cu` reads it.

fn main() {
    let results: Vec<_> = crtx_program_tests::cu::measure_compute_units()
        .into_iter()
        .map(|row| serde_json::json!({"name": row.name, "value": row.median, "unit": "CU", "gate": row.gate}))
        .collect();
    println!("{}", serde_json::json!({ "results": results }));
}
