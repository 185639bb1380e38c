//! The program's ELF: built with Anza's tools where they are installed, else with the upstream recipe in
//! `toolchain/`; committed with a record of its bytes, its source and how it was built; rebuilt to check.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{source_hash, workspace};

pub const ELF: &str = "programs/agent-marketplace/artifacts/agent_marketplace.so";
const RECORD: &str = "programs/agent-marketplace/artifacts/agent_marketplace.json";
/// The source hash alone, without a line end: the program's `security.txt` contains it. No source hash covers it.
const SOURCE: &str = "programs/agent-marketplace/artifacts/source_sha256";
/// `toolchain/build-sbf.sh` ends with this status if a part of the toolchain is unavailable.
const UNAVAILABLE: i32 = 3;

/// The record that is committed with the ELF.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    sha256: String,
    bytes: u64,
    /// Hash over sources, recipe and dependency versions: see `xtask/src/source_hash.rs`.
    source_sha256: String,
    command: String,
    recipe: Recipe,
    /// Version lines of the tools, as they print them.
    toolchain: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipe {
    /// `cargo build-sbf` with Anza's platform-tools.
    Anza,
    /// `toolchain/build-sbf.sh`.
    Upstream,
}

pub fn build() -> Result<()> {
    let recipe = recipe_here();
    let elf = workspace::root().join(ELF);
    let source_sha256 = source_hash::of_program()?;
    fs::write(workspace::root().join(SOURCE), &source_sha256)?;
    if let Some(why) = build_elf(recipe, &workspace::root(), None, None, &elf)? {
        bail!("the program cannot be built on this machine: {why}");
    }
    let record = Record {
        sha256: source_hash::of_file(&elf)?,
        bytes: fs::metadata(&elf)?.len(),
        source_sha256,
        command: "cargo xtask build-program".to_owned(),
        recipe,
        toolchain: toolchain_of(recipe)?,
    };
    let path = workspace::root().join(RECORD);
    fs::write(&path, serde_json::to_string_pretty(&record)? + "\n")?;
    println!("{ELF}: {} bytes, sha256 {}", record.bytes, record.sha256);
    Ok(())
}

pub fn recipe_here() -> Recipe {
    if anza_tools().is_some() { Recipe::Anza } else { Recipe::Upstream }
}

/// Fails unless the committed ELF is the one that the committed source gives. Where the toolchain is another one, only the
/// hashes are compared.
pub fn check() -> Result<String> {
    let only_hashes =
        |why: String| Ok(format!("program: not rebuilt ({why}); the recorded SHA-256 and source hash hold"));
    let root = workspace::root();
    let text = fs::read_to_string(root.join(RECORD)).with_context(|| format!("cannot read {RECORD}"))?;
    let record: Record = serde_json::from_str(&text).with_context(|| format!("{RECORD} is not a build record"))?;
    let committed = source_hash::of_file(&root.join(ELF))?;
    if committed != record.sha256 {
        bail!("{ELF} has sha256 {committed}, its record says {}", record.sha256);
    }
    let source = source_hash::of_program()?;
    if source != record.source_sha256 {
        bail!(
            "the program's source, recipe or dependencies changed since the ELF was built: run `cargo xtask build-program`"
        );
    }
    let here = toolchain_of(record.recipe).unwrap_or_default();
    if here != record.toolchain {
        return only_hashes(format!("it was built with {:?}, this machine has {here:?}", record.toolchain));
    }
    let folder = tempfile::tempdir()?;
    let rebuilt = folder.path().join("agent_marketplace.so");
    if let Some(why) = build_elf(record.recipe, &root, None, None, &rebuilt)? {
        return only_hashes(why);
    }
    let sha256 = source_hash::of_file(&rebuilt)?;
    if sha256 != record.sha256 {
        bail!("the rebuilt program has sha256 {sha256}, the committed one {}", record.sha256);
    }
    Ok(format!("program: rebuilt to the committed bytes (sha256 {sha256})"))
}

/// Builds the program of the workspace in `root` to `out`, in a target folder of its own if one is named;
/// `Some(reason)` if the toolchain is unavailable on this machine. `home`: where the upstream recipe keeps what it sets up
/// once; builds that share it wait for each other.
pub fn build_elf(
    recipe: Recipe,
    root: &Path,
    target: Option<&Path>,
    home: Option<&Path>,
    out: &Path,
) -> Result<Option<String>> {
    let mut command = match recipe {
        Recipe::Anza => anza_build(root, out)?,
        Recipe::Upstream => upstream_build(root, out),
    };
    if let Some(target) = target {
        let variable = if recipe == Recipe::Anza { "CARGO_TARGET_DIR" } else { "SBF_TARGET_DIR" };
        command.env(variable, target);
    }
    if let Some(home) = home {
        command.env("SBF_HOME", home);
    }
    // The checks of `.ci/run` lint on the way; the program's bytes come from the plain compiler.
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    let status = workspace::status(&mut command)?;
    match (status.success(), status.code()) {
        (true, _) => {}
        (false, Some(UNAVAILABLE)) => {
            return Ok(Some("a part of the upstream toolchain is unavailable here".to_owned()));
        }
        _ => bail!("building the program failed with {status}"),
    }
    if recipe == Recipe::Anza {
        fs::copy(anza_output(out).join("agent_marketplace.so"), out)?;
    }
    Ok(None)
}

fn upstream_build(root: &Path, out: &Path) -> Command {
    let mut command = Command::new(root.join("toolchain/build-sbf.sh"));
    command.arg(out).env("SBF_NIGHTLY", nightly());
    // The variables that cargo sets for this tool must not reach the build that it starts.
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET"] {
        command.env_remove(name);
    }
    command
}

fn anza_build(root: &Path, out: &Path) -> Result<Command> {
    let build = "build-sbf --arch v3 --manifest-path programs/agent-marketplace/Cargo.toml --sbf-out-dir";
    let mut command = workspace::cargo();
    command
        .current_dir(root)
        .args(build.split(' '))
        .arg(anza_output(out))
        .args(["--", "--locked"])
        .env_remove("RUSTUP_TOOLCHAIN");
    fs::create_dir_all(anza_output(out))?;
    Ok(command)
}

fn anza_output(out: &Path) -> PathBuf {
    out.with_extension("build-sbf")
}

/// Version lines of the tools that a recipe uses.
fn toolchain_of(recipe: Recipe) -> Result<Vec<String>> {
    match recipe {
        Recipe::Anza => anza_tools().context("cargo build-sbf is not installed"),
        Recipe::Upstream => {
            let rustc = workspace::output(
                Command::new("rustc").arg(format!("+{}", nightly())).arg("--version").env_remove("RUSTUP_TOOLCHAIN"),
            )?;
            Ok(vec![rustc.trim().to_owned(), "sbpf-linker 0.2.6".to_owned(), "libLLVM 23.1.4".to_owned()])
        }
    }
}

fn anza_tools() -> Option<Vec<String>> {
    let versions = workspace::output(Command::new("cargo").args(["build-sbf", "--version"])).ok()?;
    Some(versions.lines().map(str::to_owned).collect())
}

/// The dated nightly that the committed ELF is built with where it is installed under its date, else `nightly`.
fn nightly() -> &'static str {
    const DATED: &str = "nightly-2026-05-20";
    let dated = Command::new("rustup").args(["which", "--toolchain", DATED, "rustc"]).output();
    if dated.is_ok_and(|output| output.status.success()) { DATED } else { "nightly" }
}
