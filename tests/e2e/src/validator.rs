//! Agave's `solana-test-validator`, where this machine has one: a real chain, with real slots and commitments.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "test support")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use crtx_child::ValidatorPorts;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

/// Names the program. `cargo xtask test` sets it where this machine has one.
pub const VARIABLE: &str = "CRTX_TEST_VALIDATOR";
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// The program, from [`VARIABLE`]. `None`, with a message that is not captured, where there is none.
pub fn find(test: &str) -> Option<PathBuf> {
    let program = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    if program.is_none() {
        let text = format!("{test}: skipped, because {VARIABLE} names no validator\n");
        std::io::stderr().write_all(text.as_bytes()).expect("standard error");
    }
    program
}

/// A running validator. It is killed when dropped.
pub struct Validator {
    process: Child,
    pub rpc_url: String,
    pub websocket_url: String,
    http: reqwest::Client,
}

impl Validator {
    /// Starts one with these arguments; its ledger and its log are in `folder`.
    pub async fn start(program: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let ports = ValidatorPorts::free(None)?;
        let log = fs::File::create(folder.join("validator.log"))?;
        let process = Command::new(program)
            .args(["--ledger", "ledger", "--quiet"])
            .args(ports.arguments())
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let http = reqwest::Client::builder().timeout(Duration::from_secs(5)).no_proxy().build()?;
        let rpc_url = format!("http://127.0.0.1:{}", ports.rpc());
        let websocket_url = format!("ws://127.0.0.1:{}", ports.websocket());
        let mut validator = Self { process, rpc_url, websocket_url, http };
        let started = Instant::now();
        // Its programs work from the second slot on.
        while !validator.slot().await.is_ok_and(|slot| slot > 0) {
            if let Some(status) = validator.process.try_wait()? {
                bail!("the validator ended with {status}: {}", fs::read_to_string(folder.join("validator.log"))?);
            }
            ensure!(started.elapsed() < START_LIMIT, "the validator does not answer");
            tokio::time::sleep(POLL).await;
        }
        Ok(validator)
    }

    async fn slot(&self) -> Result<u64> {
        self.ask("getSlot", json!([{"commitment": "confirmed"}])).await?.as_u64().context("a slot")
    }

    /// One request; the result.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Value> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer: Value = self.http.post(&self.rpc_url).json(&request).send().await?.json().await?;
        answer.get("result").cloned().with_context(|| format!("{method}: {answer}"))
    }

    /// Gives a wallet SOL, and waits for it.
    pub async fn airdrop(&self, wallet: &str, sol: u64) -> Result<()> {
        self.ask("requestAirdrop", json!([wallet, sol * 1_000_000_000])).await?;
        let started = Instant::now();
        loop {
            let balance = self.ask("getBalance", json!([wallet, {"commitment": "confirmed"}])).await?;
            if balance.pointer("/value").and_then(Value::as_u64).is_some_and(|lamports| lamports > 0) {
                return Ok(());
            }
            ensure!(started.elapsed() < START_LIMIT, "the airdrop does not arrive");
            tokio::time::sleep(POLL).await;
        }
    }
}
