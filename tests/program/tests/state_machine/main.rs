//! Random scenarios by honest and hostile actors against the real ELF. A model of the marketplace, written
//! from the specification and not from the program, predicts for every step whether it succeeds and what
//! everybody holds after it. The invariants are checked after every step, too.
//!
//! `CRTX_FUZZ_CASES` and `CRTX_FUZZ_STEPS` make the campaign longer than the 256 × 40 of the test run.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config as TestConfig, FileFailurePersistence, TestRunner},
};
use proptest_state_machine::{ReferenceStateMachine, prop_state_machine};

use crtx_program_tests::state_machine::{
    marketplace::Marketplace,
    model::Model,
    steps::{Payer, Reported, Statement, Step},
};

fn from_environment(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn test_config() -> TestConfig {
    TestConfig {
        cases: from_environment("CRTX_FUZZ_CASES", 256),
        // In the folder of the manifest, where tests run: every later run starts with what failed before.
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/state_machine.txt"))),
        ..TestConfig::default()
    }
}

fn steps() -> usize {
    usize::try_from(from_environment("CRTX_FUZZ_STEPS", 40)).expect("a number of steps")
}

prop_state_machine! {
    #![proptest_config(test_config())]

    #[test]
    fn every_scenario_ends_as_the_model_predicts(sequential steps() => Marketplace);
}

/// The name of a step, without its arguments.
fn kind(step: &Step) -> String {
    let name = format!("{step:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
    name + match step {
        Step::Open { payer: Payer::Key, .. } => "ByKey",
        Step::Open { payer: Payer::CallerElsewhere(_), .. } => "FromElsewhere",
        Step::Open { payer: Payer::Creator(_), .. } => "ByCreator",
        Step::Fail { statement: Statement::Honest, .. } => "Signed",
        Step::Fail { reason: Reported::Interrupted, .. } => "AsInterrupted",
        Step::Fail { reason: Reported::Timeout, .. } => "AsTimeout",
        Step::Refund { wallet_signs: true, .. } => "SignedByWallet",
        _ => "",
    }
}

/// Scenarios only prove what happens in them, so each kind of step must succeed in some and be refused in
/// others. The model alone counts them, over as many scenarios as the test run has.
#[test]
fn every_kind_of_step_succeeds_in_some_scenarios_and_is_refused_in_others() {
    let mut runner = TestRunner::deterministic();
    let scenarios = Model::sequential_strategy(40);
    let mut seen: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for _ in 0..256 {
        let (mut model, steps, _) = scenarios.new_tree(&mut runner).expect("a scenario").current();
        for step in steps {
            model = <Model as ReferenceStateMachine>::apply(model, &step);
            seen.entry(kind(&step)).or_default()[usize::from(model.succeeds)] += 1;
        }
    }
    const NEVER_REFUSED: [&str; 2] = ["Wait", "Dust"];
    const ALWAYS_REFUSED: [&str; 1] = ["Initialize"];
    for (kind, [refused, succeeded]) in &seen {
        assert!(*refused > 0 || NEVER_REFUSED.contains(&kind.as_str()), "{kind} is never refused: {seen:?}");
        assert!(*succeeded > 0 || ALWAYS_REFUSED.contains(&kind.as_str()), "{kind} never succeeds: {seen:?}");
    }
    // These are all variants, so every instruction of the program: `announce_parameters` is in eight of them,
    // `update_listing` in six. `Open`, `Fail` and `Refund` have several ways.
    assert_eq!(seen.len(), 54, "{seen:?}");
}
