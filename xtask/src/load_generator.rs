//! The load generator `oha`: one version, installed below the build folder when a benchmark needs it.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace;

const VERSION: &str = "1.16.0";

/// The program; the first time it is built, which takes minutes.
pub fn installed() -> Result<PathBuf> {
    let folder = workspace::target().join("tools");
    let program = folder.join("bin/oha");
    let answer = std::process::Command::new(&program).arg("--version").output();
    if answer.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == format!("oha {VERSION}")) {
        return Ok(program);
    }
    let mut install = workspace::cargo();
    install.args(["install", "oha", "--locked", "--force", "--version", VERSION, "--root"]).arg(&folder);
    // Of its own: the settings of this workspace's builds are none of the tool's.
    install.arg("--target-dir").arg(folder.join("build"));
    workspace::run(&mut install)?;
    Ok(program)
}
