//! `cargo xtask fuzz`: the program's state-machine property test for longer than a test run has time for, and the fuzz
//! targets of `tests/fuzz` under libFuzzer. `cargo xtask model`: every state that a few calls can reach.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{
    suites::{self, TestBinary},
    workspace,
};

const FOLDER: &str = "tests/fuzz";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// The reading of the Ed25519 proof, against a second parser.
    Gate,
    /// The division of an amount, against 128-bit arithmetic.
    Split,
    /// The metadata document and strict JSON.
    Metadata,
    /// The committed ELF: scenarios, and transactions that are changed in every part.
    Elf,
}

impl Target {
    /// Longer inputs show nothing new, and make a run slower.
    const fn longest_input(self) -> u32 {
        match self {
            Self::Split => 12,
            Self::Gate => 1_500,
            Self::Metadata => 4_096,
            Self::Elf => 640,
        }
    }
}

fn program_test(name: &str) -> Result<TestBinary> {
    let binary = suites::program_tests()?.into_iter().find(|binary| binary.name() == name);
    binary.context("there is no such test program")
}

/// Runs `cases` random sequences of `steps` instructions each. What fails is shrunk, printed and kept next to
/// the test, where every later run starts with it.
pub fn run(cases: u32, steps: u32) -> Result<()> {
    let binary = program_test("state_machine")?;
    eprintln!("{cases} sequences of {steps} steps");
    let mut test = Command::new(&binary.executable);
    test.arg("--nocapture")
        .current_dir(&binary.folder)
        .env("CRTX_FUZZ_CASES", cases.to_string())
        .env("CRTX_FUZZ_STEPS", steps.to_string());
    workspace::run(&mut test).context("the state machine found a sequence that breaks an invariant, or did not run")
}

/// Visits every state that `calls` calls can reach.
pub fn model(calls: u32) -> Result<()> {
    let binary = program_test("exhaustive")?;
    let mut test = Command::new(&binary.executable);
    test.arg("--nocapture").current_dir(&binary.folder).env("CRTX_MODEL_CALLS", calls.to_string());
    workspace::run(&mut test).context("a state breaks a rule, or the model did not run")
}

/// Runs a target under libFuzzer. The corpus stays for the next run.
pub fn run_target(target: Target, minutes: u32) -> Result<()> {
    let (folder, name) = (workspace::root().join(FOLDER), workspace::name_of(&target));
    let mut build = workspace::cargo();
    build.args(["build", "--workspace", "--bin", "fuzz", "--features", "crtx-fuzz/libfuzzer", "--locked"]);
    workspace::run(build.env("RUSTC_WORKSPACE_WRAPPER", folder.join("instrumented-rustc.sh")))?;
    let [corpus, seeds, found] = ["corpus", "seeds", "regressions"].map(|kind| folder.join(kind).join(&name));
    for folder in [&corpus, &found] {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut fuzz = Command::new(workspace::binary("fuzz"));
    fuzz.env("CRTX_FUZZ_TARGET", &name)
        .args([&corpus, &seeds, &found])
        .arg(format!("-artifact_prefix={}/", found.display()))
        .arg(format!("-max_len={}", target.longest_input()))
        .arg(format!("-max_total_time={}", minutes.saturating_mul(60)))
        .args(["-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1"]);
    let dictionary = folder.join(format!("{name}.dict"));
    if dictionary.is_file() {
        fuzz.arg(format!("-dict={}", dictionary.display()));
    }
    if !workspace::status(&mut fuzz)?.success() {
        bail!(
            "a finding, saved in {}. `cargo test --workspace --test replay {name} -- --nocapture` runs it again",
            found.display()
        );
    }
    Ok(())
}
