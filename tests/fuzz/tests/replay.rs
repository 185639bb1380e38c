//! The targets on every committed input, and on changes of them that follow from a fixed seed: quick, and without
//! libFuzzer. What libFuzzer finds is saved in `regressions/` and stays in this test.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "test code")]

use std::{
    fs,
    path::{Path, PathBuf},
};

fn inputs(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join(target);
    let files = ["seeds", "regressions"].map(|name| fs::read_dir(folder(name)).into_iter().flatten());
    let mut paths: Vec<_> = files.into_iter().flatten().map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("it is read"))).collect()
}

/// xorshift64: the same changes in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).expect("it is below a usize")
    }
}

/// Runs the committed inputs, and so many changes of them.
fn replay(name: &str, changes: u32) {
    let (_, run) = crtx_fuzz::TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    let inputs = inputs(name);
    assert!(!inputs.is_empty(), "{name} has no seeds");
    for (path, input) in &inputs {
        eprintln!("{}", path.display());
        run(input);
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..changes {
        let mut input = inputs[random.below(inputs.len())].1.clone();
        for _ in 0..=random.below(4) {
            if !input.is_empty() {
                let at = random.below(input.len());
                input[at] = u8::try_from(random.below(256)).expect("a byte");
            }
        }
        run(&input);
    }
}

#[test]
fn gate_accepts_exactly_the_canonical_proof() {
    replay("gate", 20_000);
}

#[test]
fn split_is_exact() {
    replay("split", 20_000);
}

#[test]
fn metadata_is_read_within_its_bounds_or_refused() {
    replay("metadata", 20_000);
}

#[test]
fn elf_keeps_its_invariants_and_explains_all_money() {
    replay("elf", 40);
}
