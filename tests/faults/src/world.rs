//! A whole marketplace of real processes: one `crtx up` (chain, PostgreSQL, every service) and more gateways
//! (`crtx-server` with the roles `api` and `worker`) over the same database and content folder, each with an RPC node
//! and a machine of its own.

use std::{
    net::{IpAddr, Ipv4Addr},
    ops::Deref,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use crtx_content::{ContentLocation, ContentStore};
use crtx_e2e::{Info, crtx_binary, free_port};
use tokio::{process::Command, sync::watch, time::timeout};

use crate::{
    client::Client,
    http_proxy::HttpProxy,
    market::LocalChain,
    postgres::PostgresServer,
    preload::{Library, MachineFaults},
    process::{Kind, Process},
    rpc_proxy::RpcProxy,
};

/// Longest start of a service that is waited for: many times the usual one, since test machines are busy.
pub const START_LIMIT: Duration = Duration::from_secs(120);

/// How long settlement may take beyond the time-out. Short, so that deadlines pass within a campaign.
pub const GRACE: &str = "20s";

/// Every service trusts the proxy that a test may put in front of it.
const TRUSTED_PROXIES: &str = "CRTX_TRUSTED_PROXIES";

const ONE_LOOK: Duration = Duration::from_secs(2);

/// One more gateway in addition to that of `crtx up`.
pub struct Gateway {
    pub process: Process,
    pub base_url: String,
    /// The RPC node that this gateway alone uses.
    pub rpc: RpcProxy,
    pub machine: MachineFaults,
}

/// A marketplace as callers, creators and the checks see it.
pub struct Marketplace {
    pub data_dir: PathBuf,
    /// What `crtx up` printed at its last start.
    pub info: watch::Receiver<Option<Info>>,
    /// Where its API is, if `crtx up` does not serve it.
    pub base_url: Option<String>,
    /// The address under which the services reach this process.
    pub here: IpAddr,
    pub content: ContentStore,
}

impl Marketplace {
    /// What `crtx up` printed at its last start.
    pub fn info(&self) -> Result<Info> {
        let info = self.info.borrow().clone().context("crtx up has not been ready yet")?;
        Ok(match &self.base_url {
            Some(base_url) => Info { base_url: base_url.clone(), ..info },
            None => info,
        })
    }

    /// The chain as it can be reached now.
    pub fn chain(&self) -> Result<LocalChain> {
        LocalChain::of(&self.info()?, &self.data_dir)
    }
}

/// The running marketplace. Everything ends when this is dropped.
pub struct World {
    pub marketplace: Marketplace,
    pub up: Process,
    pub up_machine: MachineFaults,
    pub gateways: Vec<Gateway>,
    pub postgres: PostgresServer,
}

impl Deref for World {
    type Target = Marketplace;

    fn deref(&self) -> &Marketplace {
        &self.marketplace
    }
}

impl World {
    /// Starts below `folder`, which the database's unprivileged user must be able to enter. Logs are written to
    /// `logs`.
    pub async fn start(folder: &Path, logs: &Path, gateways: usize) -> Result<Self> {
        let data_dir = folder.join("data");
        std::fs::create_dir_all(&data_dir)?;
        std::fs::create_dir_all(logs)?;
        let library = Library::compile(folder)?;
        let content = data_dir.join("content");
        let up_machine = MachineFaults::new(library.clone(), folder.join("up.control"), content.clone())?;
        let (info_sender, info) = watch::channel(None);
        let recipe = up_command(&data_dir, &up_machine)?;
        let up = Process::start("crtx up", Kind::Up(info_sender), logs.join("up.log"), recipe);
        up.ready(START_LIMIT).await?;
        let content = ContentStore::create(&ContentLocation::Folder(content))?;
        let (postgres, here) = (PostgresServer::of(&data_dir), Ipv4Addr::LOCALHOST.into());
        let marketplace = Marketplace { data_dir, info, base_url: None, here, content };
        let mut world = Self { marketplace, up, up_machine, gateways: Vec::new(), postgres };
        for number in 0..gateways {
            let gateway = world.gateway(number, folder, logs, &library).await?;
            world.gateways.push(gateway);
        }
        for gateway in &world.gateways {
            gateway.process.ready(START_LIMIT).await?;
        }
        Ok(world)
    }

    /// Waits until `crtx up` runs, and reaches its database, its chain and its mirror.
    pub async fn answers(&self, limit: Duration) -> Result<()> {
        let (client, url) = (Client::new()?, format!("{}/readyz", self.info()?.base_url));
        let healthy = async {
            while self.postgres.postmaster().is_none() || client.get(&url, None, ONE_LOOK).await.status() != Some(200) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        self.up.ready(limit).await?;
        timeout(limit, healthy).await.with_context(|| format!("crtx up is not ready; see {}", self.up.log().display()))
    }

    /// What runs, for a report.
    pub fn processes(&self) -> String {
        let gateways = self.gateways.iter().map(|gateway| &gateway.process);
        let mut text = String::new();
        for process in std::iter::once(&self.up).chain(gateways) {
            text += &format!("  {}: {:?}, log {}\n", process.name(), process.status(), process.log().display());
        }
        text + &self.postgres.describe()
    }

    pub fn content_dir(&self) -> PathBuf {
        self.data_dir.join("content")
    }

    /// Base URLs of all gateways; the first is that of `crtx up`.
    pub fn base_urls(&self) -> Result<Vec<String>> {
        let first = self.info()?.base_url;
        Ok(std::iter::once(first).chain(self.gateways.iter().map(|gateway| gateway.base_url.clone())).collect())
    }

    async fn gateway(&self, number: usize, folder: &Path, logs: &Path, library: &Library) -> Result<Gateway> {
        let info = self.info()?;
        let rpc = RpcProxy::start(&info.rpc_url).await?;
        let control = folder.join(format!("gateway-{number}.control"));
        let machine = MachineFaults::new(library.clone(), control, self.content_dir())?;
        let port = free_port()?;
        let base_url = format!("http://127.0.0.1:{port}");
        let (listen, config) = (format!("127.0.0.1:{port}"), info.server_config);
        let (environment, rpc_url) = (machine.environment(), rpc.url().to_owned());
        let recipe = move || {
            let mut command = Command::new(server_binary());
            command.args(["--role", "api,worker", "--listen", &listen, "--config"]).arg(&config);
            command.envs(environment.clone()).env("CRTX_RPC_URLS", &rpc_url);
            command.env(TRUSTED_PROXIES, HttpProxy::ADDRESS.to_string());
            command
        };
        let name = format!("gateway {}", number + 1);
        let log = logs.join(format!("gateway-{}.log", number + 1));
        let process = Process::start(&name, Kind::Listens((Ipv4Addr::LOCALHOST, port).into()), log, Box::new(recipe));
        Ok(Gateway { process, base_url, rpc, machine })
    }
}

/// `crtx up` on a port that stays the same from start to start.
fn up_command(data_dir: &Path, machine: &MachineFaults) -> Result<Box<dyn Fn() -> Command + Send + Sync>> {
    let (port, data_dir, environment) = (free_port()?.to_string(), data_dir.to_owned(), machine.environment());
    Ok(Box::new(move || {
        let mut command = Command::new(crtx_binary());
        command.args(["up", "--json", "--port", &port, "--data-dir"]).arg(&data_dir).envs(environment.clone());
        command.args(["--settle-grace", GRACE]);
        command.env(TRUSTED_PROXIES, HttpProxy::ADDRESS.to_string());
        command
    }))
}

/// The `crtx-server` under test lies in the folder of `crtx`.
pub fn server_binary() -> PathBuf {
    crtx_binary().with_file_name("crtx-server")
}
