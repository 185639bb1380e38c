//! The program's IDL, assembled by Anchor's own library from the source, and completed.

use std::{fs, path::PathBuf, process::Command};

use anchor_lang_idl::build::IdlBuilder;
use anyhow::{Context, Result, bail};

use crate::{idl_additions, workspace};

const IDL: &str = "idl/agent_marketplace.json";

pub fn write() -> Result<()> {
    let path = workspace::root().join(IDL);
    fs::create_dir_all(path.parent().context("the IDL lies in a folder")?)?;
    fs::write(&path, generate()?)?;
    println!("{IDL} written");
    Ok(())
}

pub fn check() -> Result<String> {
    let committed = fs::read_to_string(workspace::root().join(IDL)).with_context(|| format!("cannot read {IDL}"))?;
    if committed != generate()? {
        bail!("{IDL} is not the IDL of the program's source: run `cargo xtask idl`");
    }
    Ok(format!("idl: {IDL} is the one of the source"))
}

/// Builds the IDL in this process and prints it.
pub fn print() -> Result<()> {
    let program = workspace::root().join("programs/agent-marketplace");
    let mut idl = IdlBuilder::new().program_path(program).skip_lint(true).build()?;
    idl_additions::add(&mut idl)?;
    println!("{}", serde_json::to_string_pretty(&idl)?);
    Ok(())
}

/// The builder starts `cargo` with flags of its own, so it gets a target folder of its own; and it misreads
/// `RUSTUP_TOOLCHAIN`, which rustup sets for this tool, so it runs in a child without it.
fn generate() -> Result<String> {
    let root = workspace::root();
    workspace::output(
        Command::new(own_executable()?)
            .args(["idl", "--print"])
            .current_dir(&root)
            .env("CARGO_TARGET_DIR", root.join("target/idl"))
            .env_remove("RUSTUP_TOOLCHAIN")
            // Only this build uses the feature for the IDL, which leaves imports unused.
            .env_remove("RUSTC_WORKSPACE_WRAPPER"),
    )
}

/// Linux marks the path of a running program whose file was replaced; the new file works, too.
fn own_executable() -> Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map_or(path.clone(), PathBuf::from))
}
