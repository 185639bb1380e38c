//! Compute units per instruction, of whole transactions with nothing else in them (a settlement's
//! Ed25519 instruction included), over many worlds with keys of their own: a new address costs 1 500
//! for every bump tried, so one world says little.

use litesvm::types::TransactionResult;

use crate::{World, assert_ok};

/// Worlds measured.
pub const SAMPLES: u64 = 20;

/// Compute units of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuRow {
    pub name: &'static str,
    pub median: u64,
    pub min: u64,
    pub max: u64,
    /// The number an issue names.
    pub gate: Option<u64>,
}

/// Median, least and most compute units of every measured instruction.
pub fn measure_compute_units() -> Vec<CuRow> {
    let mut samples: Vec<(&'static str, Vec<u64>)> = Vec::new();
    for seed in 1..=SAMPLES {
        for (name, units) in measure_world(seed) {
            match samples.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.push(units),
                None => samples.push((name, vec![units])),
            }
        }
    }
    samples.into_iter().map(|(name, units)| row(name, units)).collect()
}

fn row(name: &'static str, mut units: Vec<u64>) -> CuRow {
    units.sort_unstable();
    let middle = units.len() / 2;
    // The upper of the two middle values: a gate is not met by rounding.
    CuRow { name, median: units[middle], min: units[0], max: units[units.len() - 1], gate: gate(name) }
}

fn gate(name: &str) -> Option<u64> {
    match name {
        "open_execution" | "complete_execution" => Some(13_000),
        "open_execution_with_grant" => Some(16_000),
        "refund_expired_execution" => Some(9_000),
        _ => None,
    }
}

fn measure_world(seed: u64) -> Vec<(&'static str, u64)> {
    let mut world = World::with_seed(seed);
    let units = |result: TransactionResult| assert_ok(result).compute_units_consumed;
    let mut rows = Vec::new();

    let execution = world.new_execution();
    rows.push(("open_execution", units(world.open(&execution))));
    rows.push(("complete_execution", units(world.complete(&execution))));
    let execution = world.new_execution();
    rows.push(("open_execution_with_grant", units(world.open_with_grant(&execution))));
    rows.push(("fail_execution", units(world.fail(&execution))));
    let execution = world.opened();
    world.expire(&execution);
    rows.push(("refund_expired_execution", units(world.refund(&execution))));
    rows
}
