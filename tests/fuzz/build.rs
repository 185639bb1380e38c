//! The part of the gate that reads the sysvar's bytes is private, so the target compiles its file as a part of itself.

use std::{env, fs, path::Path};

const GATE: &str = "../../programs/agent-marketplace/src/ed25519_gate.rs";

fn main() {
    println!("cargo::rerun-if-changed={GATE}");
    let source = fs::read_to_string(GATE).unwrap_or_else(|error| panic!("{GATE}: {error}"));
    // A file that is included in a module cannot document it, and this module is not in the program's root.
    let included = source.replace("//!", "//").replace("crate::", "super::");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    let written = fs::write(Path::new(&out).join("ed25519_gate.rs"), included);
    written.unwrap_or_else(|error| panic!("{error}"));
}
