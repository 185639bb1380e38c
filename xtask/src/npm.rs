//! Packages of npm: installed as their lock file says, and scripts of theirs that report counts of tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{source_hash, workspace};

/// A folder with a `package.json`.
pub struct Package(PathBuf);

impl Package {
    /// `folder`: below the workspace's root.
    pub fn at(folder: &str) -> Self {
        Self(workspace::root().join(folder))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// `npm` in the folder.
    pub fn npm(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("npm");
        command.current_dir(&self.0).args(["--loglevel=error"]).args(arguments);
        command
    }

    /// Installs the packages of the lock file, unless they are what is installed.
    pub fn install(&self) -> Result<()> {
        let wanted = source_hash::of_file(&self.0.join("package-lock.json"))?;
        let stamp = self.0.join("node_modules/.installed-from");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        let folder = self.0.display();
        eprintln!("installing the packages of {folder} …");
        ensure!(
            workspace::status(&mut self.npm(&["ci", "--no-audit", "--no-fund"])).context("npm is needed")?.success(),
            "`npm ci` failed in {folder}"
        );
        fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
    }

    /// Runs a script as one test: (1, 0) if it succeeds, else (0, 1).
    pub fn check(&self, script: &[&str]) -> Result<(u64, u64)> {
        let passed = workspace::status(&mut self.npm(&[&["run", "--silent"], script].concat()))?.success();
        println!("{} ... {}", script.join(" "), if passed { "ok" } else { "FAILED" });
        Ok(if passed { (1, 0) } else { (0, 1) })
    }

    /// Runs the tests with vitest: counts of what passed and failed.
    pub fn test(&self, variables: &[(&str, &Path)]) -> Result<(u64, u64)> {
        let folder = tempfile::tempdir()?;
        let report = folder.path().join("report.json");
        let file = format!("--outputFile.json={}", report.display());
        let mut command = self.npm(&["run", "test", "--silent", "--", "--reporter=verbose", "--reporter=json", &file]);
        let status = workspace::status(command.envs(variables.iter().copied()))?;
        let (passed, failed) = counts(&report).unwrap_or((0, 0));
        // A run that dies without a report, or fails outside of a test, has failed as well.
        Ok((passed, if status.success() { failed } else { failed.max(1) }))
    }
}

/// The sum of counts.
pub fn total<const N: usize>(counts: [(u64, u64); N]) -> (u64, u64) {
    counts.iter().fold((0, 0), |(passed, failed), (more_passed, more_failed)| {
        (passed.saturating_add(*more_passed), failed.saturating_add(*more_failed))
    })
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
