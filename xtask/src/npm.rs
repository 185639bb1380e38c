//! Packages of npm: installed as their lock file says, and scripts of theirs that report counts of tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{source_hash, tally::Tally, workspace};

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

    /// Installs the packages of the lock file, unless they are what is installed. Suites that run at the same time need the
    /// same packages.
    pub fn install(&self) -> Result<()> {
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = INSTALLING.lock();
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

    /// Runs a script as one test.
    pub fn check(&self, script: &[&str]) -> Result<Tally> {
        let passed = workspace::status(&mut self.npm(&[&["run", "--silent"], script].concat()))?.success();
        let name = script.join(" ");
        println!("{name} ... {}", if passed { "ok" } else { "FAILED" });
        Ok(if passed { Tally::passed(1) } else { Tally::failed(name) })
    }

    /// Runs the tests with vitest.
    pub fn test(&self, variables: &[(&str, &Path)]) -> Result<Tally> {
        let folder = tempfile::tempdir()?;
        let report = folder.path().join("report.json");
        let file = format!("--outputFile.json={}", report.display());
        let mut command = self.npm(&["run", "test", "--silent", "--", "--reporter=verbose", "--reporter=json", &file]);
        let status = workspace::status(command.envs(variables.iter().copied()))?;
        let tally = fs::read_to_string(&report).ok().and_then(|report| tally(&report).ok()).unwrap_or_default();
        // A run that dies without a report, or fails outside of a test, has failed as well.
        Ok(if !status.success() && tally.is_success() {
            tally.and(Tally::failed("vitest, outside of a test"))
        } else {
            tally
        })
    }
}

/// Reads vitest's report.
fn tally(report: &str) -> Result<Tally> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        num_passed_tests: u64,
        test_results: Vec<File>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct File {
        assertion_results: Vec<Test>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Test {
        full_name: String,
        status: String,
        /// In milliseconds.
        duration: Option<f64>,
        /// Of every attempt that failed.
        failure_messages: Vec<String>,
    }
    let report: Report = serde_json::from_str(report)?;
    let mut tally = Tally::passed(report.num_passed_tests);
    for test in report.test_results.into_iter().flat_map(|file| file.assertion_results) {
        let took = Duration::try_from_secs_f64(test.duration.unwrap_or(0.0) / 1_000.0).unwrap_or_default();
        tally.times.push((took, test.full_name.clone()));
        let reason = test.failure_messages.first().and_then(|message| message.lines().next());
        let name = [Some(test.full_name.as_str()), reason].into_iter().flatten().collect::<Vec<_>>().join(": ");
        if test.status == "failed" {
            tally.failed.push(name);
        } else if reason.is_some() {
            tally.second.push(name);
        }
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_vitest_names_the_tests_that_failed_once_or_twice_and_why() {
        let report = r#"{"numPassedTests": 2, "numFailedTests": 1, "testResults": [{"assertionResults": [
            {"fullName": "money is exact", "status": "passed", "duration": 1500, "failureMessages": []},
            {"fullName": "money moves", "status": "passed", "failureMessages": ["late\n    at line 5"]},
            {"fullName": "money is shown", "status": "failed", "failureMessages": ["no", "no"]}]}]}"#;
        let mut read = tally(report).expect("a report");
        assert_eq!(read.times.first(), Some(&(Duration::from_millis(1_500), "money is exact".to_owned())));
        read.times.clear();
        assert_eq!(
            read,
            Tally {
                second: vec!["money moves: late".into()],
                failed: vec!["money is shown: no".into()],
                ..Tally::passed(2)
            }
        );
    }
}
