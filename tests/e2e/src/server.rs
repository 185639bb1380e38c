//! `crtx-server` processes that join a marketplace of `crtx up --services none`.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::{Info, Up, crtx_binary, free_port, market::Market};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// One process. It is killed when dropped.
pub struct Server {
    child: Child,
    pub base_url: String,
    http: reqwest::Client,
}

/// A marketplace whose services are not started, and its folder.
pub async fn without_services() -> Result<(tempfile::TempDir, Up)> {
    let folder = crate::folder();
    let data = folder.path().join("data");
    let data = data.to_str().context("a UTF-8 path")?;
    let up = Up::start_with(&["up", "--json", "--services", "none", "--data-dir", data]).await?;
    Ok((folder, up))
}

/// Waits until the indexer shows the agent.
pub async fn until_listed(market: &Market, agent: &str) {
    let started = Instant::now();
    while market.get(&format!("/v1/agents/{agent}")).await.status != 200 {
        assert!(started.elapsed() < START_LIMIT, "the indexer shows the agent");
        tokio::time::sleep(POLL).await;
    }
}

impl Server {
    /// Starts a process with these roles; its log is written into `folder`.
    pub fn start(info: &Info, folder: &Path, name: &str, roles: &str) -> Result<Self> {
        Self::start_with(&info.server_config, folder, name, roles)
    }

    /// The same with another configuration.
    pub fn start_with(config: &Path, folder: &Path, name: &str, roles: &str) -> Result<Self> {
        let listen = format!("127.0.0.1:{}", free_port()?);
        let child = Command::new(crtx_binary().with_file_name("crtx-server"))
            .args(["--role", roles, "--listen", &listen, "--config"])
            .arg(config)
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join(format!("{name}.log")))?)
            .kill_on_drop(true)
            .spawn()
            .context("cannot start crtx-server")?;
        let http = reqwest::Client::builder().timeout(Duration::from_secs(10)).no_proxy().build()?;
        Ok(Self { child, base_url: format!("http://{listen}"), http })
    }

    /// The marketplace as a client of this process sees it.
    pub fn market(&self, info: &Info) -> Market {
        Market::new(Info { base_url: self.base_url.clone(), ..info.clone() })
    }

    /// Status and body of a GET without an API key; `None` while nobody listens.
    pub async fn get(&self, path: &str) -> Option<(u16, Value)> {
        let response = self.http.get(format!("{}{path}", self.base_url)).send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.json().await.unwrap_or(Value::Null)))
    }

    /// Waits until `/readyz` answers with this status.
    pub async fn until_readyz_is(&mut self, wanted: u16) -> Result<Value> {
        let started = Instant::now();
        loop {
            if let Some((status, body)) = self.get("/readyz").await
                && status == wanted
            {
                return Ok(body);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("crtx-server ended with {status}");
            }
            ensure!(started.elapsed() < START_LIMIT, "/readyz never answers {wanted}: {:?}", self.get("/readyz").await);
            tokio::time::sleep(POLL).await;
        }
    }

    /// `None` once it has ended.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// SIGKILL.
    pub async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// SIGTERM, and the status of the process.
    pub async fn stop(mut self) -> Result<ExitStatus> {
        let pid = self.child.id().context("it has ended")?.to_string();
        ensure!(Command::new("kill").args(["-s", "TERM", &pid]).status().await?.success(), "kill -s TERM {pid}");
        tokio::time::timeout(STOP_LIMIT, self.child.wait())
            .await
            .context("it runs on after SIGTERM")?
            .map_err(Into::into)
    }
}
