//! Random stories by honest and hostile actors against the real ELF. A model of the marketplace, written
//! from the design and not from the program, foretells of every step whether it goes through and what
//! everybody then holds; the invariants are checked after every step besides.
//!
//! `CRTX_FUZZ_CASES` and `CRTX_FUZZ_STEPS` make the campaign longer than the 256 × 30 of the test run.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test: a panic is a failure"
)]

mod marketplace;
mod model;
mod steps;
mod stories;

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config as TestConfig, FileFailurePersistence, TestRunner},
};
use proptest_state_machine::{ReferenceStateMachine, prop_state_machine};

use crate::{marketplace::Marketplace, model::Model, steps::Step};

fn from_environment(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn test_config() -> TestConfig {
    TestConfig {
        cases: from_environment("CRTX_FUZZ_CASES", 256),
        // Beside the manifest, where tests run: every later run starts with what failed once.
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/state_machine.txt"))),
        ..TestConfig::default()
    }
}

fn steps() -> usize {
    usize::try_from(from_environment("CRTX_FUZZ_STEPS", 30)).expect("a number of steps")
}

prop_state_machine! {
    #![proptest_config(test_config())]

    #[test]
    fn every_story_ends_as_the_model_foretells(sequential steps() => Marketplace);
}

/// What a step is called, without what it is about.
fn kind(step: &Step) -> String {
    let name = format!("{step:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
    if matches!(step, Step::Open { key: true, .. }) { name + "ByKey" } else { name }
}

/// The stories are only worth what happens in them: each kind of step has to go through in some and to be
/// refused in others. Told by the model alone, in as many stories as the test run plays.
#[test]
fn every_kind_of_step_goes_through_in_some_stories_and_is_refused_in_others() {
    let mut runner = TestRunner::deterministic();
    let stories = Model::sequential_strategy(30);
    let mut seen: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for _ in 0..256 {
        let (mut model, steps, _) = stories.new_tree(&mut runner).expect("a story").current();
        for step in steps {
            model = <Model as ReferenceStateMachine>::apply(model, &step);
            seen.entry(kind(&step)).or_default()[usize::from(model.goes_through)] += 1;
        }
    }
    const NEVER_REFUSED: [&str; 2] = ["Wait", "Dust"];
    const ALWAYS_REFUSED: [&str; 1] = ["Initialize"];
    for (kind, [refused, went_through]) in &seen {
        assert!(*refused > 0 || NEVER_REFUSED.contains(&kind.as_str()), "{kind} is never refused: {seen:?}");
        assert!(*went_through > 0 || ALWAYS_REFUSED.contains(&kind.as_str()), "{kind} never goes through: {seen:?}");
    }
    // All variants, so every instruction of the program: `update_config` in five of them, `update_listing` in
    // three, both openings in `Open`.
    assert_eq!(seen.len(), 36, "{seen:?}");
}
