//! Fuzz targets: each takes any bytes and panics if what it attacks breaks a promise.
//!
//! `cargo xtask fuzz <target>` runs one under libFuzzer, which keeps the inputs that reach new code. `tests/replay.rs`
//! runs the same functions on the committed inputs, without libFuzzer.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a panic is a finding"
)]

#[cfg(feature = "libfuzzer")]
pub mod coverage;
pub mod elf;
pub mod explained;
pub mod gate;
pub mod metadata;
pub mod split;

/// What attacks one promise with any bytes.
pub type Target = fn(&[u8]);

/// The targets by name.
pub const TARGETS: [(&str, Target); 4] =
    [("gate", gate::run), ("split", split::run), ("metadata", metadata::run), ("elf", elf::run)];
