//! The suite `sdk`: the libraries in `sdk/` that are not of this workspace, each against a `crtx up` of its own.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use crate::{
    npm::Package,
    tally::{Tally, number_before},
    workspace,
};

const PYTHON: &str = "sdk/python";
const TYPESCRIPT: &str = "sdk/typescript";

pub fn test() -> Result<Tally> {
    Ok(typescript()?.and(python()?))
}

fn typescript() -> Result<Tally> {
    let package = Package::at(TYPESCRIPT);
    package.install()?;
    package.test(&[("CRTX_BIN", &workspace::binary("crtx"))])
}

/// Its script prints everything. pytest's last line has the numbers, for each version of Python.
fn python() -> Result<Tally> {
    let folder = workspace::root().join(PYTHON);
    let mut child = Command::new("sh")
        .args(["test.sh", "-rf", "--durations=3"])
        .current_dir(folder)
        .env("CRTX_BIN", workspace::binary("crtx"))
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start a shell")?;
    let mut tally = Tally::default();
    for line in BufReader::new(child.stdout.take().context("the output is piped")?).lines() {
        let line = line?;
        println!("{line}");
        if let Some(test) = line.strip_prefix("FAILED ") {
            tally.failed.push(format!("Python: {test}"));
        } else if line.contains(" passed in ") {
            tally.passed = tally.passed.saturating_add(number_before(&line, " passed"));
        }
    }
    if !child.wait()?.success() && tally.is_success() {
        tally.failed.push("Python, outside of a test".to_owned());
    }
    Ok(tally)
}
