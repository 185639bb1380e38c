//! The table "Prices of lies" of `SECURITY.md`, measured again: what a lie about an agent costs, or that it does not work.
//! `crates/store/tests/store/trust.rs` measures the row about trust.

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;

const DOCUMENT: &str = include_str!("../../../SECURITY.md");

/// The last cell of the row that begins with `lie`.
#[track_caller]
fn stated(lie: &str) -> &'static str {
    let row = DOCUMENT.lines().find(|line| line.starts_with(&format!("| {lie} |")));
    let cells = row.unwrap_or_else(|| panic!("SECURITY.md has no row `{lie}`"));
    cells.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default()
}

/// Base units as the document writes them.
fn usdc(amount: u64) -> String {
    let text = format!("{}.{:06}", amount / USDC, amount % USDC);
    format!("{} USDC", text.trim_end_matches('0').trim_end_matches('.'))
}

#[test]
fn a_false_success_costs_its_fee() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let price = MarketParameters::DEFAULT.min_price;
    let edit = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(price), ..Default::default() });
    world.must(&[edit], &[&agent.creator.keypair]);
    let treasury = world.balance(&world.treasury.token);
    world.completed();
    let fee = world.balance(&world.treasury.token) - treasury;
    assert_eq!(stated("One false success"), usdc(fee));
    assert_eq!(world.listing(&agent).platform_fees_total, fee, "it adds to the fees what it costs");
}

#[test]
fn a_dispute_about_a_stranger_costs_its_bond_if_it_is_abuse_and_moves_no_rate_otherwise() {
    for decision in [DisputeDecision::Rejected, DisputeDecision::Abusive] {
        let mut world = World::new();
        let execution = world.completed();
        let before = (world.balance(&world.caller.token), world.listing(&world.agent).successful_executions);
        let dispute = world.open_dispute(&execution);
        world.must(&[dispute], &[&execution.caller.keypair]);
        world.answer(&execution);
        let resolve = world.resolve_with(&execution, World::resolve_args(decision, 0));
        world.must(&[resolve], &[&world.resolver.keypair.insecure_clone()]);
        let lost = before.0 - world.balance(&world.caller.token);
        assert_eq!(world.listing(&world.agent).successful_executions, before.1, "the success rate stays");
        match decision {
            DisputeDecision::Abusive => assert_eq!(stated("One dispute about a stranger's agent"), usdc(lost)),
            _ => assert_eq!(lost, 0),
        }
    }
}

#[test]
fn failures_by_the_gateways_key_do_not_move_a_success_rate() {
    let mut world = World::new();
    world.completed();
    let execution = world.opened();
    assert_ok(world.fail(&execution));
    let listing = world.listing(&world.agent);
    assert_eq!((listing.successful_executions, listing.total_executions), (1, 1));
    assert_eq!(stated("A success rate lowered with the gateway's key, without a time-out"), "impossible");
}

#[test]
fn settling_alone_does_not_move_a_mean_time() {
    let mut world = World::new();
    let execution = world.opened();
    world.set_time(world.terms(&execution).deadline_unix_s);
    let (proof, caller) = (world.proof(&execution).instruction(), execution.caller.clone());
    let settle = forged(world.complete_execution(&execution), &[("authority", caller.key())]);
    world.must(&[proof, settle], &[&caller.keypair]);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.completed_executions, listing.timed_executions, listing.execution_time_ms_total), (1, 0, 0));
    assert_eq!(stated("A mean time moved by settling alone"), "impossible");
}

/// Puppets dispute and take penalties until nothing can be taken; the claim that was raised before is paid in full.
#[test]
fn no_collateral_leaves_in_front_of_a_victim_that_disputed_before() {
    let mut world = World::new();
    let victim = world.disputed();
    loop {
        let puppet = world.answered();
        let left = world.listing(&world.agent).collateral;
        if world.resolve(&puppet, true, (21 * PRICE).min(left)).is_err() {
            break;
        }
        // A listing without the collateral of its tier takes no calls.
        if world.listing(&world.agent).status != AgentStatus::Active as u8 {
            break;
        }
    }
    let before = world.balance(&world.caller.token);
    assert_ok(world.uphold(&victim, PRICE));
    let returned = world.balance(&world.caller.token) - before;
    assert_eq!(returned, PRICE + BOND, "the victim is compensated in full");
    assert_eq!(stated("Collateral out in front of victims who disputed"), "impossible");
}
