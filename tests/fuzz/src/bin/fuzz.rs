//! libFuzzer with the target that `CRTX_FUZZ_TARGET` names. `cargo xtask fuzz` builds and runs it.
#![no_main]
#![expect(clippy::expect_used, reason = "a panic is a finding")]

use std::sync::OnceLock;

use crtx_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    crtx_fuzz::coverage::watch();
    let name = std::env::var("CRTX_FUZZ_TARGET").expect("CRTX_FUZZ_TARGET names a target");
    crtx_fuzz::TARGETS.iter().find(|(target, _)| *target == name).expect("a target of this name").1
}

fuzz_target!(|data: &[u8]| TARGET.get_or_init(chosen)(data));
