//! schemathesis, which tests the running service against its description: installed from PyPI in the versions of
//! `tests/e2e/schemathesis/requirements.txt`, into `target/`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{source_hash, workspace};

/// The test program that runs it.
pub const TEST: &str = "described_api";
/// Tells the test program where it is.
pub const VARIABLE: &str = "CRTX_SCHEMATHESIS";
const REQUIREMENTS: &str = "tests/e2e/schemathesis/requirements.txt";
const NEEDED: &str = "the suite `api` needs `python3` (3.10 or newer) with the modules `venv` and `pip`";

/// Installs the packages of the list, unless they are what is installed. Returns the program.
pub fn install() -> Result<PathBuf> {
    let (requirements, folder) = (workspace::root().join(REQUIREMENTS), workspace::root().join("target/schemathesis"));
    let program = folder.join("bin/schemathesis");
    let (wanted, stamp) = (source_hash::of_file(&requirements)?, folder.join(".installed-from"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && starts(&program) {
        return Ok(program);
    }
    eprintln!("installing schemathesis …");
    let mut python = Command::new("python3");
    succeeds(python.args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/python"));
    let install = "-m pip install --quiet --disable-pip-version-check --only-binary=:all: --requirement";
    succeeds(pip.args(install.split(' ')).arg(&requirements))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(program)
}

/// A moved folder, or another Python, makes it useless.
fn starts(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn succeeds(command: &mut Command) -> Result<()> {
    ensure!(workspace::status(command).context(NEEDED)?.success(), NEEDED);
    Ok(())
}
