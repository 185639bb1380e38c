//! What runs: the database, the scripted node, and the services over both.

use std::process::Stdio;

use anyhow::{Context, Result};
use crtx_e2e::alone::{Alone, Settings};
use crtx_postgres::PostgresCluster;
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use crtx_store::PgPool;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdin, Command},
};

use super::{
    chain::{authority, document, usdc_mint},
    orders::{Emission, Emitted, NodeState},
};

pub struct Market {
    pub pool: PgPool,
    pub node: NodeProcess,
    pub accounts: u32,
    cluster: PostgresCluster,
    folder: tempfile::TempDir,
}

/// The scripted node. It ends when this process ends.
pub struct NodeProcess {
    _child: Child,
    _leash: Option<ChildStdin>,
    place: Place,
    http: reqwest::Client,
}

#[derive(Deserialize)]
struct Place {
    http: String,
    ws: String,
}

impl Market {
    pub async fn start(accounts: u32) -> Result<Self> {
        let folder = crtx_e2e::folder();
        let cluster = PostgresCluster::start(folder.path(), &|text| eprintln!("{text}")).await?;
        cluster.begin_syncing().await?;
        let pool = crtx_store::testing::connect(&cluster.url(), 6).await?;
        crtx_store::migrate(&pool).await?;
        // All listings have one document, and it is in the content store.
        let content = folder.path().join("content");
        std::fs::create_dir(&content)?;
        std::fs::write(content.join(cid_of(&ResultHash::of(document().as_bytes()))), document())?;
        Ok(Self { pool, node: NodeProcess::start(accounts).await?, accounts, cluster, folder })
    }

    /// One service over this market.
    pub async fn service(&self, name: &str, roles: &str, more: Vec<(&'static str, String)>) -> Result<Alone> {
        let authority = authority();
        let settings = Settings {
            name,
            roles,
            folder: self.folder.path().to_owned(),
            database_url: self.cluster.url(),
            rpc_url: format!("http://{}", self.node.place.http),
            ws_url: Some(format!("ws://{}", self.node.place.ws)),
            usdc_mint: usdc_mint(),
            authority: &authority,
            more,
        };
        settings.start().await
    }

    pub async fn stop(self) -> Result<()> {
        self.pool.close().await;
        drop(self.node);
        self.cluster.stop().await?;
        Ok(())
    }
}

impl NodeProcess {
    async fn start(accounts: u32) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--accounts", &accounts.to_string(), "node"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the node")?;
        let mut lines = BufReader::new(child.stdout.take().context("the node's output")?).lines();
        let line = lines.next_line().await?.context("the node ended")?;
        let leash = child.stdin.take();
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { _child: child, _leash: leash, place: serde_json::from_str(&line)?, http })
    }

    fn url(&self, order: &str) -> String {
        format!("http://{}/orders/{order}", self.place.http)
    }

    async fn answer<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T> {
        let body = request.send().await?.error_for_status()?.bytes().await?;
        serde_json::from_slice(&body).context("the node's answer")
    }

    pub async fn state(&self) -> Result<NodeState> {
        Self::answer(self.http.get(self.url("state"))).await
    }

    pub async fn change(&self, number: u32) -> Result<u32> {
        Self::answer(self.http.post(self.url(&format!("change/{number}")))).await
    }

    /// Returns when the last change is told.
    pub async fn emit(&self, emission: Emission) -> Result<Emitted> {
        let body = serde_json::to_vec(&emission)?;
        Self::answer(self.http.post(self.url("emit")).header("content-type", "application/json").body(body)).await
    }
}
