//! The suite `browser`: the dashboard in Chromium, against a `crtx up` of its own. Chromium is installed where it is
//! missing and the machine permits it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{npm::Package, tally::Tally, workspace};

const FOLDER: &str = "tests/browser";
/// Names the browser's program, for this tool and for the tests.
const VARIABLE: &str = "CRTX_CHROMIUM";
/// The first one has no windows, and needs a third less processor time for the same tests.
const PROGRAMS: [&str; 6] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const NEEDED: &str = "the suite `browser` needs Chromium: install it (`apt-get install chromium-headless-shell`, or \
                      `chromium`), or name its program in CRTX_CHROMIUM";

/// Types and tests.
pub fn test() -> Result<Tally> {
    let chromium = chromium()?;
    // The tests use code of the dashboard to read accounts.
    Package::at("app").install()?;
    let tests = Package::at(FOLDER);
    tests.install()?;
    let crtx = workspace::binary("crtx");
    Ok(tests.check(&["typecheck"])?.and(tests.test(&[(VARIABLE, &chromium), ("CRTX_BIN", &crtx)])?))
}

/// The program that measures what users of the dashboard wait for.
pub fn benchmark(crtx: &Path) -> Result<Command> {
    let chromium = chromium()?;
    Package::at(FOLDER).install()?;
    let mut command = Command::new("node");
    command.arg("bench/dashboard.mjs").current_dir(workspace::root().join(FOLDER));
    command.env(VARIABLE, chromium).env("CRTX_BIN", crtx);
    Ok(command)
}

fn chromium() -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    eprintln!("installing {} …", PROGRAMS[0]);
    for arguments in [&["update", "-q"][..], &["install", "-yq", "--no-install-recommends", PROGRAMS[0]]] {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        ensure!(workspace::status(&mut command).context(NEEDED)?.success(), NEEDED);
    }
    find().context(NEEDED)
}

fn find() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = PROGRAMS
        .iter()
        .flat_map(|name| std::env::split_paths(&folders).map(|folder| folder.join(name)).collect::<Vec<_>>());
    named.into_iter().chain(on_path).find(|program| Path::is_file(program))
}
