//! The TypeScript side in `app/`: packages installed as locked, the generated client compared with what
//! the IDL gives today, types, tests.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::{source_hash, workspace};

const CLIENT: &str = "app/src/generated";

fn app() -> PathBuf {
    workspace::root().join("app")
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(app()).args(["--loglevel=error"]).args(arguments);
    command
}

/// Fails unless the committed client is the one that the IDL gives.
pub fn check_client() -> Result<String> {
    install()?;
    let folder = tempfile::tempdir()?;
    let fresh = folder.path().join("generated");
    let mut generate = Command::new("node");
    workspace::run(generate.current_dir(app()).arg("scripts/generate-client.mjs").arg(&fresh))?;
    let (committed, generated) = (files(&workspace::root().join(CLIENT))?, files(&fresh)?);
    let differing: Vec<_> = committed
        .keys()
        .chain(generated.keys())
        .filter(|name| committed.get(*name) != generated.get(*name))
        .map(|name| name.display().to_string())
        .collect();
    if !differing.is_empty() {
        bail!("{CLIENT} is not the IDL's client ({}): run `npm run generate` in app/", differing.join(", "));
    }
    Ok(format!("client: {CLIENT} is the one of the IDL ({} files)", committed.len()))
}

/// Types and tests; counts of what passed and failed. The check of types counts as one.
pub fn test() -> Result<(u64, u64)> {
    install()?;
    let types = workspace::status(&mut npm(&["run", "typecheck", "--silent"]))?.success();
    println!("typecheck ... {}", if types { "ok" } else { "FAILED" });
    let folder = tempfile::tempdir()?;
    let report = folder.path().join("report.json");
    let file = format!("--outputFile.json={}", report.display());
    let status = workspace::status(&mut npm(&[
        "run",
        "test",
        "--silent",
        "--",
        "--reporter=verbose",
        "--reporter=json",
        &file,
    ]))?;
    let (passed, failed) = counts(&report).unwrap_or((0, 0));
    // A run that dies without a report, or fails outside of a test, has failed as well.
    let failed = if status.success() { failed } else { failed.max(1) };
    Ok(if types { (passed.saturating_add(1), failed) } else { (passed, failed.saturating_add(1)) })
}

fn counts(report: &Path) -> Result<(u64, u64)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        num_passed_tests: u64,
        num_failed_tests: u64,
    }
    let report: Report = serde_json::from_str(&fs::read_to_string(report)?)?;
    Ok((report.num_passed_tests, report.num_failed_tests))
}

/// Installs the packages of the lock file, unless they are what is installed.
fn install() -> Result<()> {
    let wanted = source_hash::of_file(&app().join("package-lock.json"))?;
    let stamp = app().join("node_modules/.installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    eprintln!("installing the packages of app/ …");
    ensure!(
        workspace::status(&mut npm(&["ci", "--no-audit", "--no-fund"])).context("npm is needed")?.success(),
        "`npm ci` failed in app/"
    );
    fs::write(&stamp, wanted).context("app/node_modules")
}

/// Every file below a folder, by its path in it.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for path in source_hash::files_below(folder)? {
        found.insert(path.strip_prefix(folder)?.to_path_buf(), fs::read(&path)?);
    }
    Ok(found)
}
