//! Starts `crtx up` as a user would, reads its one JSON line, and stops it the way a shell does.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "test support")]

pub mod alone;
pub mod bench;
pub mod chain;
pub mod endpoints;
pub mod market;
pub mod process;
pub mod server;
pub mod session;
pub mod slow_disk;
pub mod standby;
pub mod streams;
pub mod terminal;
pub mod validator;

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use crtx_protocol::usdc::UsdcBase;
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// Longest start that is waited for: many times the promised one, since test machines are busy.
const START_LIMIT: Duration = Duration::from_secs(120);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Names the folder of the configuration, so that no test touches that of the user.
pub const CONFIG_DIR: &str = "CRTX_CONFIG_DIR";

/// A folder for one test. The unprivileged user that PostgreSQL runs as may enter it, so that the database lies in it
/// and goes with it.
///
/// # Panics
///
/// Panics if the folder cannot be made.
pub fn folder() -> tempfile::TempDir {
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    tempfile::Builder::new().prefix("crtx-test-").permissions(everybody).tempdir().expect("a folder")
}

/// The folder in which a `crtx up` of these tests notes where it is.
pub fn config_dir(data_dir: &Path) -> PathBuf {
    data_dir.join("config")
}

/// What `crtx up --json` prints.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Info {
    /// Empty without services.
    #[serde(default, deserialize_with = "or_empty")]
    pub base_url: String,
    pub api_key: String,
    pub unfunded_api_key: String,
    pub wallet: String,
    pub rpc_url: String,
    pub ws_url: String,
    pub program_id: String,
    pub usdc_mint: String,
    pub database_url: String,
    pub content_dir: PathBuf,
    pub server_config: PathBuf,
    pub ready_ms: u64,
    pub agents: Vec<AgentInfo>,
    /// Where the dashboard is; `None` if it is not served.
    #[serde(default)]
    pub dashboard_url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentInfo {
    pub agent_id: String,
    pub name: String,
    pub price_per_call_usdc: UsdcBase,
    pub endpoint: String,
}

fn or_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Info {
    pub fn data_dir(&self) -> &Path {
        self.content_dir.parent().expect("the content lies in the data directory")
    }
}

/// A `crtx up` that may not be ready yet. It is killed when dropped.
#[derive(Debug)]
pub struct Starting {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Starting {
    /// Process id of `crtx up`.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("not waited for yet")
    }

    /// Waits for the JSON line.
    pub async fn ready(mut self) -> Result<Up> {
        let line = timeout(START_LIMIT, self.stdout.next_line()).await.context("not ready in time")??;
        let Some(line) = line else {
            bail!("ended before it was ready: {}", self.child.wait().await?);
        };
        let info = serde_json::from_str(&line).with_context(|| format!("not the announced JSON line: {line}"))?;
        Ok(Up { child: self.child, info, stdout: self.stdout })
    }
}

/// A running `crtx up`. It is killed when dropped; [`Up::stop`] stops it cleanly.
#[derive(Debug)]
pub struct Up {
    child: Child,
    info: Info,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Up {
    /// Starts on a free port with `folder` as data directory, and waits until it is ready.
    pub async fn start(folder: &Path, more: &[&str]) -> Result<Self> {
        let port = free_port()?.to_string();
        let mut arguments =
            vec!["up", "--json", "--port", &port, "--data-dir", folder.to_str().context("a UTF-8 path")?];
        arguments.extend(more);
        Self::start_with(&arguments).await
    }

    /// Starts on a disk that is slow to sync.
    pub async fn start_on(disk: &slow_disk::SlowDisk, folder: &Path, more: &[&str]) -> Result<Self> {
        let port = free_port()?.to_string();
        let mut arguments =
            vec!["up", "--json", "--port", &port, "--data-dir", folder.to_str().context("a UTF-8 path")?];
        arguments.extend(more);
        Self::start_in(&arguments, disk.environment()).await
    }

    /// Starts with exactly these arguments, which have to contain `up` and `--json`.
    pub async fn start_with(arguments: &[&str]) -> Result<Self> {
        Self::start_in(arguments, vec![]).await
    }

    async fn start_in(arguments: &[&str], environment: Vec<(&str, std::ffi::OsString)>) -> Result<Self> {
        Self::spawn(Command::new(crtx_binary()).args(arguments).envs(environment))?.ready().await
    }

    /// Starts a prepared command, whose arguments have to contain `up` and `--json`, without waiting for it.
    pub fn spawn(command: &mut Command) -> Result<Starting> {
        let words: Vec<_> = command.as_std().get_args().collect();
        let data_dir = words.iter().skip_while(|word| **word != "--data-dir").nth(1).context("no --data-dir")?;
        let config_dir = config_dir(Path::new(data_dir));
        // `crtx up` would make it a folder of this user alone, and the database would lie elsewhere; see `folder`.
        std::fs::create_dir_all(data_dir)?;
        let mut child = command
            .env(CONFIG_DIR, config_dir)
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", crtx_binary().display()))?;
        let stdout = BufReader::new(child.stdout.take().context("stdout is piped")?).lines();
        Ok(Starting { child, stdout })
    }

    pub const fn info(&self) -> &Info {
        &self.info
    }

    /// Process id of `crtx up`.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("still running")
    }

    /// Sends a signal by its name, such as `TERM` or `INT`.
    pub async fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status().await?;
        if !status.success() {
            bail!("kill -s {name} ended with {status}");
        }
        Ok(())
    }

    /// Waits until the process has ended by itself; fails if it printed more than its one line.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let status = timeout(STOP_LIMIT, self.child.wait()).await.context("still running")??;
        if let Some(line) = self.stdout.next_line().await? {
            bail!("printed a second line on stdout: {line}");
        }
        Ok(status)
    }

    /// Waits, however long it takes, until the process has ended by itself.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait().await?)
    }

    /// SIGTERM, and the exit status 0 that a clean stop has.
    pub async fn stop(&mut self) -> Result<()> {
        self.signal("TERM").await?;
        let status = self.wait().await?;
        if !status.success() {
            bail!("crtx up ended with {status}");
        }
        Ok(())
    }

    /// SIGKILL: what a crash or a power cut does.
    pub async fn crash(&mut self) -> Result<()> {
        self.child.kill().await.context("cannot kill")
    }
}

/// A port that nobody listened on a moment ago.
pub fn free_port() -> Result<u16> {
    crtx_child::free_port(None)
}

/// The `crtx` under test: `CRTX_BIN`, else the one that cargo builds for this workspace.
pub fn crtx_binary() -> PathBuf {
    std::env::var_os("CRTX_BIN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/crtx"), PathBuf::from)
}

/// The `crtx` command with a configuration folder, without the user's variables and home, and without a terminal.
pub fn crtx_without_settings(config_dir: &Path) -> std::process::Command {
    without_settings(crtx_binary(), config_dir)
}

/// The same for a program that runs `crtx`.
pub fn without_settings(program: impl AsRef<std::ffi::OsStr>, config_dir: &Path) -> std::process::Command {
    const VARIABLES: [&str; 7] = [
        "CRTX_URL",
        "CRTX_API_KEY",
        "CRTX_RPC_URL",
        "CRTX_KEYPAIR",
        "CRTX_PROGRAM_ID",
        "CRTX_CODE_HASH",
        "CRTX_NETWORK",
    ];
    let mut command = std::process::Command::new(program);
    VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env(CONFIG_DIR, config_dir).env("HOME", config_dir).stdin(Stdio::null());
    command
}

/// The blocks of shell commands of a document, in their order.
pub fn shell_commands(document: &str) -> String {
    let (mut script, mut inside) = (String::new(), false);
    for line in document.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => script.extend([line, "\n"]),
            _ => {}
        }
    }
    script
}
