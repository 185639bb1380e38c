//! A person with a terminal: runs the `crtx` command with nothing but a configuration folder and the files of wallets.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{crtx_binary, without_settings};

/// A person. Wallets are files in `folder`.
pub struct Terminal {
    pub folder: PathBuf,
    config_dir: PathBuf,
    variables: Vec<(&'static str, String)>,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Said {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// The one JSON value on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON value ({error}): {self:?}"))
    }
}

impl Terminal {
    pub fn new(folder: &Path, config_dir: &Path) -> Self {
        Self { folder: folder.to_owned(), config_dir: config_dir.to_owned(), variables: Vec::new() }
    }

    /// The same person with an environment variable.
    #[must_use]
    pub fn with(&self, name: &'static str, value: &str) -> Self {
        let mut variables = self.variables.clone();
        variables.push((name, value.to_owned()));
        Self { folder: self.folder.clone(), config_dir: self.config_dir.clone(), variables }
    }

    /// The same person with another wallet.
    #[must_use]
    pub fn as_wallet(&self, file: &str) -> Self {
        let path = self.folder.join(file);
        self.with("CRTX_KEYPAIR", path.to_str().expect("a UTF-8 path"))
    }

    /// A command that is not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(crtx_binary());
        command.args(arguments);
        command
    }

    /// Another program of this person, which may run `crtx`.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = without_settings(program, &self.config_dir);
        command.envs(self.variables.iter().cloned()).current_dir(&self.folder);
        command
    }

    /// Runs a command, whatever becomes of it.
    pub fn run(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().expect("crtx runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// A command that succeeds, with `--json`; its JSON value.
    #[track_caller]
    pub fn done(&self, arguments: &[&str]) -> Value {
        let said = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(said.status, Some(0), "{arguments:?}: {said:?}");
        said.json()
    }

    /// A transaction that is sent without a question.
    #[track_caller]
    pub fn sent(&self, arguments: &[&str]) -> Value {
        self.done(&[arguments, &["--yes"]].concat())
    }

    /// A command that ends with this status; what it says.
    #[track_caller]
    pub fn refused(&self, status: i32, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.status, Some(status), "{arguments:?}: {said:?}");
        said.stderr
    }
}
