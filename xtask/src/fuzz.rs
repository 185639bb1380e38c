//! `cargo xtask fuzz`: the program's state-machine property test for longer than a test run has time for.

use anyhow::{Context, Result};

use crate::workspace;

/// Runs `cases` random sequences of `steps` instructions each. What fails is shrunk, printed and kept beside
/// the test, where every later run starts with it.
pub fn run(cases: u32, steps: u32) -> Result<()> {
    eprintln!("{cases} sequences of {steps} steps");
    let mut test = workspace::cargo();
    test.args(["test", "--locked", "--package", "crtx-program-tests", "--test", "state_machine", "--", "--nocapture"])
        .env("CRTX_FUZZ_CASES", cases.to_string())
        .env("CRTX_FUZZ_STEPS", steps.to_string());
    workspace::run(&mut test).context("the state machine found a sequence that breaks an invariant, or did not run")
}
