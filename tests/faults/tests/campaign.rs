//! The crash campaign of the test command. `cargo xtask chaos` runs longer ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use crtx_faults::{
    campaign::{Options, run},
    report::PRINTED_VIOLATIONS,
};

const FAULTS: usize = 60;
/// Another seed in every run would make a failure look like a change; long runs try others.
const SEED: u64 = 20_261_121;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_lost_or_paid_twice_whatever_breaks() {
    let seed = variable("CRTX_CHAOS_SEED", SEED);
    let faults = usize::try_from(variable("CRTX_CHAOS_FAULTS", u64::try_from(FAULTS).unwrap())).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chaos");
    let report = run(&Options { seed, faults, folder }).await.unwrap();
    println!("{}", report.table());
    assert!(
        report.violations.is_empty(),
        "seed {seed}, {faults} faults (`cargo xtask chaos --faults {faults} --seed {seed}` repeats it); logs in {}, \
         data in {:?}\n{}",
        report.logs.display(),
        report.kept,
        report.violations_text(PRINTED_VIOLATIONS)
    );
}
