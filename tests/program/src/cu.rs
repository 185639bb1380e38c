//! Compute units per instruction, of whole transactions with nothing else in them (a settlement's
//! Ed25519 instruction included), over many worlds with keys of their own: a new address costs 1 500
//! for every bump tried, so one world says little.

pub mod cost;

use agent_marketplace::{instructions as ix, state::AgentStatus};
use litesvm::types::TransactionResult;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::{Agent, START_UNIX_S, USDC, World, assert_ok};

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

type Rows = Vec<(&'static str, u64)>;

fn units(result: TransactionResult) -> u64 {
    assert_ok(result).compute_units_consumed
}

fn measure_world(seed: u64) -> Rows {
    let mut rows = paid_calls(seed);
    rows.extend(disputes(seed));
    rows.extend(listings(seed));
    rows.extend(grants(seed));
    rows.extend(governance(seed));
    rows
}

/// One instruction by itself, signed by `signer`.
fn alone(world: &mut World, instruction: Instruction, signer: &Keypair) -> u64 {
    units(world.send(&[instruction], &[signer]))
}

fn paid_calls(seed: u64) -> Rows {
    let mut world = World::with_seed(seed);
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

fn disputes(seed: u64) -> Rows {
    let mut world = World::with_seed(seed);
    let mut rows = Vec::new();
    let caller = world.caller.keypair.insecure_clone();
    let undisputed = world.completed();
    let execution = world.completed();
    let open = world.open_dispute(&execution);
    rows.push(("open_dispute", alone(&mut world, open, &caller)));
    rows.push(("resolve_dispute", units(world.resolve(&execution, true, USDC))));
    world.set_time(world.record(&execution).dispute_deadline_unix_s + 1);
    let close = world.close_execution(&undisputed);
    rows.push(("close_execution", units(world.send(&[close], &[]))));
    let close = world.close_execution(&execution);
    rows.push(("close_execution_with_dispute", units(world.send(&[close], &[]))));
    rows
}

fn listings(seed: u64) -> Rows {
    let mut world = World::with_seed(seed);
    let mut rows = Vec::new();
    let agent: Agent = world.new_agent();
    let creator = agent.creator.keypair.insecure_clone();
    let profile = world.upsert_creator_profile(&creator.pubkey(), "Ada");
    rows.push(("upsert_creator_profile", alone(&mut world, profile, &creator)));
    let admin = world.admin.keypair.insecure_clone();
    let verify = world.verify_creator(&creator.pubkey(), true);
    rows.push(("verify_creator", alone(&mut world, verify, &admin)));
    let list = world.list_agent(&agent, world.list_args(&agent));
    rows.push(("list_agent", alone(&mut world, list, &creator)));
    let edit = ix::UpdateListingArgs {
        price: Some(60_000),
        timeout_seconds: Some(90),
        metadata: Some(ix::MetadataRef { hash: [0x33; 32], uri: "https://example.com/metadata.json".to_owned() }),
        ..Default::default()
    };
    let update = world.update_listing(&agent, edit);
    rows.push(("update_listing", alone(&mut world, update, &creator)));
    let pause = world.set_agent_status(&agent, AgentStatus::Paused);
    rows.push(("set_agent_status", alone(&mut world, pause, &creator)));
    let deposit = world.deposit_collateral(&agent, USDC);
    rows.push(("deposit_collateral", alone(&mut world, deposit, &creator)));
    let delist = world.delist_agent(&agent);
    rows.push(("delist_agent", alone(&mut world, delist, &creator)));
    let withdraw = world.withdraw_collateral(&agent);
    rows.push(("withdraw_collateral", alone(&mut world, withdraw, &creator)));
    let close = world.close_agent(&agent);
    rows.push(("close_agent", alone(&mut world, close, &creator)));
    rows
}

fn grants(seed: u64) -> Rows {
    let mut world = World::with_seed(seed);
    let caller = world.caller.keypair.insecure_clone();
    let args = ix::GrantSpendingArgs {
        session_key: world.new_key().pubkey(),
        per_call_cap: USDC,
        total_cap: 100 * USDC,
        expires_at_unix_s: START_UNIX_S + 1_000,
        allowed_agents: vec![],
    };
    let grant = world.grant_spending(args);
    let granted = alone(&mut world, grant, &caller);
    let revoke = world.revoke_spending();
    vec![("grant_spending", granted), ("revoke_spending", alone(&mut world, revoke, &caller))]
}

fn governance(seed: u64) -> Rows {
    let mut world = World::bare(seed);
    let mut rows = Vec::new();
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let initialize = world.initialize_config();
    rows.push(("initialize_config", alone(&mut world, initialize, &authority)));
    let admin = world.admin.keypair.insecure_clone();
    let update = world.update_config(ix::UpdateConfigArgs { fee_bps: Some(200), ..Default::default() });
    rows.push(("update_config", alone(&mut world, update, &admin)));
    let pause = world.set_paused(true);
    rows.push(("set_paused", alone(&mut world, pause, &admin)));
    let successor = world.stranger.keypair.insecure_clone();
    let nominate = world.nominate_admin(&successor.pubkey());
    rows.push(("nominate_admin", alone(&mut world, nominate, &admin)));
    let accept = world.accept_admin(&successor.pubkey());
    rows.push(("accept_admin", alone(&mut world, accept, &successor)));
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_instruction_of_the_idl_is_measured() {
        let idl = include_str!("../../../idl/agent_marketplace.json");
        let idl: serde_json::Value = serde_json::from_str(idl).expect("the IDL is JSON");
        let instructions = idl["instructions"].as_array().expect("a list").iter();
        let wanted: BTreeSet<_> = instructions.filter_map(|entry| entry["name"].as_str()).collect();
        let rows = measure_world(1);
        let measured: BTreeSet<_> = rows.iter().map(|(name, _)| name.trim_end_matches("_with_dispute")).collect();
        assert_eq!(measured, wanted);
    }
}
