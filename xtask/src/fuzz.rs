//! `cargo xtask fuzz`: the program's state-machine property test for longer than a test run has time for.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{suites, workspace};

const TEST: &str = "state_machine";

/// Runs `cases` random sequences of `steps` instructions each. What fails is shrunk, printed and kept next to
/// the test, where every later run starts with it.
pub fn run(cases: u32, steps: u32) -> Result<()> {
    let binary = suites::program_tests()?.into_iter().find(|binary| binary.name() == TEST);
    let binary = binary.context("there is no such test program")?;
    eprintln!("{cases} sequences of {steps} steps");
    let mut test = Command::new(&binary.executable);
    test.arg("--nocapture")
        .current_dir(&binary.folder)
        .env("CRTX_FUZZ_CASES", cases.to_string())
        .env("CRTX_FUZZ_STEPS", steps.to_string());
    workspace::run(&mut test).context("the state machine found a sequence that breaks an invariant, or did not run")
}
