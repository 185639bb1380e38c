//! The suite `release`: what is handed out, and what is known today about the dependencies.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{generated::Check, npm::Package, reproduce, workspace};

pub const CHECKS: [(&str, Check); 6] = [
    ("reproduce", reproduce::run),
    ("crates", || pack(&["--features", "crtx-sdk/buyer,crtx-sdk/seller"])),
    ("packages", || script("deploy/check-packages.sh")),
    ("containers", || script("deploy/check-containers.sh")),
    ("deny", deny),
    ("npm audit", audit),
];

/// A script of the repository, with the folder of the built programs.
fn script(path: &str) -> Result<String> {
    workspace::build_binaries()?;
    let programs = workspace::binary("crtx");
    let programs = programs.parent().context("a folder")?;
    workspace::run(Command::new(workspace::root().join(path)).arg(programs))?;
    Ok(format!("{path} found nothing wrong"))
}

/// `crtx-sdk`, and what it is built from. The other crates of the workspace are not published.
const CRATES: [&str; 6] =
    ["crtx-protocol", "agent-marketplace", "crtx-download", "crtx-chain", "crtx-schema", "crtx-sdk"];

/// Packs them as `cargo publish` does, and builds the packages without the rest of the repository.
fn pack(more: &[&str]) -> Result<String> {
    let mut cargo = workspace::cargo();
    cargo.args(["package", "--allow-dirty"]).args(CRATES.iter().flat_map(|name| ["--package", name])).args(more);
    workspace::output(&mut cargo)?;
    Ok(format!("these crates can be published: {}", CRATES.join(", ")))
}

/// Not part of `.ci/run`: the tool takes minutes to build.
pub fn deny() -> Result<String> {
    let installed = workspace::output(workspace::cargo().args(["deny", "--version"]));
    installed.context("cargo-deny is not installed: run `cargo install cargo-deny --locked`")?;
    workspace::run(workspace::cargo().args(["deny", "check"]))?;
    Ok("deny.toml allows every dependency".to_owned())
}

/// The dashboard's dependencies, those of its tools included.
fn audit() -> Result<String> {
    for folder in ["app", "sdk/typescript"] {
        workspace::run(&mut Package::at(folder).npm(&["audit"]))?;
    }
    Ok("npm knows no advisory for a dependency of app/ and sdk/typescript/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without building them, which takes minutes.
    #[test]
    fn the_rust_library_and_what_it_is_built_from_can_be_packed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().to_str().unwrap();
        pack(&["--no-verify", "--offline", "--target-dir", folder]).unwrap();
    }
}
