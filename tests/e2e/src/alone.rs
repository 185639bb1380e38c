//! One `crtx-server` process over a database and a node that a benchmark made.

use std::{
    fs,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use tokio::process::{Child, Command};

use crate::{crtx_binary, free_port};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// What a process is started with.
pub struct Settings<'a> {
    /// Names the log and the key pair in the folder.
    pub name: &'a str,
    pub roles: &'a str,
    pub folder: PathBuf,
    pub database_url: String,
    pub rpc_url: String,
    pub ws_url: Option<String>,
    pub usdc_mint: Pubkey,
    /// The gateway's key pair.
    pub authority: &'a Keypair,
    /// More settings, as environment variables.
    pub more: Vec<(&'static str, String)>,
}

/// A process that listens. It is killed when dropped.
pub struct Alone {
    child: Child,
    pub base_url: String,
}

impl Settings<'_> {
    fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// Starts the process and waits until it listens.
    pub async fn start(self) -> Result<Alone> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let base_url = format!("http://{address}");
        let mut alone = Alone { child: self.spawn(&address, &base_url)?, base_url };
        let started = Instant::now();
        while tokio::net::TcpStream::connect(&address).await.is_err() {
            if let Some(status) = alone.child.try_wait()? {
                bail!("crtx-server ended with {status}: {}", fs::read_to_string(self.log())?);
            }
            ensure!(started.elapsed() < START_LIMIT, "crtx-server does not listen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(alone)
    }

    fn spawn(&self, address: &str, base_url: &str) -> Result<Child> {
        let keypair = self.folder.join(format!("{}.json", self.name));
        fs::write(&keypair, serde_json::to_vec(self.authority.to_bytes().as_slice())?)?;
        let program = crtx_binary().with_file_name("crtx-server");
        Command::new(&program)
            .args(["--role", self.roles])
            .env("CRTX_LISTEN", address)
            .env("CRTX_DATABASE_URL", &self.database_url)
            .env("CRTX_RPC_URLS", &self.rpc_url)
            .env("CRTX_PROGRAM_USDC_MINT", self.usdc_mint.to_string())
            .env("CRTX_GATEWAY_KEYPAIR_FILE", keypair)
            .env("CRTX_NETWORK", "local")
            .env("CRTX_PUBLIC_URL", base_url)
            .env("CRTX_CONTENT_DIR", self.folder.join("content"))
            .envs(self.ws_url.iter().map(|url| ("CRTX_RPC_WS_URL", url)))
            .envs(self.more.iter().map(|(name, value)| (name, value)))
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.log())?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))
    }
}

impl Alone {
    pub fn pid(&self) -> u32 {
        self.child.id().expect("still running")
    }

    /// SIGTERM; the process must end well.
    pub async fn stop(mut self) -> Result<()> {
        let pid = self.pid().to_string();
        ensure!(Command::new("kill").args(["-s", "TERM", &pid]).status().await?.success(), "kill -s TERM {pid}");
        let status = tokio::time::timeout(STOP_LIMIT, self.child.wait()).await.context("crtx-server runs on")??;
        ensure!(status.success(), "crtx-server ended with {status}");
        Ok(())
    }
}
