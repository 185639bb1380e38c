//! What limits the calls of the whole marketplace on chain, and of one agent and one wallet: `docs/scale.md` says so.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use crtx_program_tests::packing::{self, Packed, TRAFFIC, Units};

const UNITS: Units = Units { open: 11_540, complete: 7_929, fail: 5_781, close: 5_924 };

fn packed(name: &str) -> Packed {
    let traffic = TRAFFIC.iter().find(|traffic| traffic.name == name).expect("known traffic");
    packing::pack(traffic, UNITS)
}

#[test]
fn the_gateways_key_is_the_first_limit_of_the_marketplace_then_the_block_and_in_a_larger_one_the_treasurys_account() {
    let steps = ["many_agents", "two_payers", "many_payers", "larger_block", "larger_block_two_treasuries"].map(packed);
    assert_eq!(steps.map(|step| step.limit), ["payer", "payer", "block", "treasury", "block"]);
    assert!(steps.is_sorted_by(|before, after| before.calls < after.calls), "each step lifts a limit: {steps:?}");
    let full = steps.map(|step| step.block_percent > 95.0);
    assert_eq!(full, [false, false, true, false, true], "{steps:?}");
}

#[test]
fn an_agent_and_a_wallet_are_limited_by_their_own_accounts() {
    assert_eq!(["one_agent", "one_wallet"].map(|name| packed(name).limit), ["agent", "wallet"]);
}

#[test]
fn more_calls_fit_if_they_share_transactions() {
    let more = |name: &str| packed(&format!("{name}_shared")).calls > packed(name).calls;
    assert!(["many_agents", "many_agents_fail", "one_agent"].iter().all(|name| more(name)));
}
