//! A marketplace on several machines: two hosts with a process of each role, a PostgreSQL primary and its synchronous
//! standby, a bucket, and HAProxy with the configuration of a deployment on each host and in front of both. The machines
//! are network namespaces. Chain, creators and clients are outside of them.

pub mod campaign;
pub mod database;
pub mod haproxy;
pub mod network;

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use crtx_content::{BucketSettings, ContentLocation, ContentStore, testing::S3Server};
use crtx_e2e::{Info, crtx_binary};
use crtx_store::PgPool;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{sync::watch, time::sleep};

use self::{
    database::Pair,
    haproxy::{Addresses, Forward, HaProxy},
    network::{HERE, Machine, Network},
};
use crate::{
    client::Client,
    process::{Kind, Process},
    world::{GRACE, Marketplace, START_LIMIT, server_binary},
};

/// The forwarded ports of the test's own servers.
const RPC: u16 = 18_899;
const WEBSOCKET: u16 = 18_900;
const BUCKET: u16 = 19_000;
/// The processes of a host, and their ports.
const ROLES: [(&str, u16); 3] = [("api", 8_080), ("worker", 8_081), ("indexer", 8_082)];
const LIMIT: Duration = Duration::from_secs(60);

/// One host.
pub struct Host {
    pub machine: Machine,
    /// In the order of [`ROLES`].
    pub processes: Vec<Process>,
    _haproxy: HaProxy,
}

/// Everything. It ends when this is dropped.
pub struct Machines {
    pub marketplace: Marketplace,
    pub hosts: Vec<Host>,
    pub databases: Pair,
    /// On the primary, whichever it is.
    pub pool: PgPool,
    pub up: Process,
    /// Where clients reach both hosts.
    pub edge: String,
    _edge: HaProxy,
    bucket: S3Server,
    _network: Network,
}

/// Who does what is done once for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Single {
    /// Writes the mirror, audits, looks for closings.
    IndexerLeader,
    /// Sweeps and does the housekeeping.
    GatewayLeader,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    pub host: usize,
    /// The process of the database that holds the lock.
    pub backend: i32,
}

impl Single {
    pub const ALL: [Self; 2] = [Self::IndexerLeader, Self::GatewayLeader];

    /// Its role, as an index of [`ROLES`].
    pub const fn role(self) -> usize {
        match self {
            Self::GatewayLeader => 1,
            Self::IndexerLeader => 2,
        }
    }
}

impl Machines {
    /// `previous`: the program of the second host, if it is of the version before, which reads from the primary alone.
    pub async fn start(folder: &Path, logs: &Path, previous: Option<PathBuf>) -> Result<Self> {
        fs::create_dir_all(logs)?;
        let hosts = [Machine::new("crtx-host1", 21), Machine::new("crtx-host2", 22)];
        let databases = [Machine::new("crtx-db1", 11), Machine::new("crtx-db2", 12)];
        let network = Network::make(&[&hosts[..], &databases].concat())?;
        let at = |machine: &Machine, port| SocketAddr::from((machine.address, port));
        let addresses = Addresses {
            databases: [at(&databases[0], 5432), at(&databases[1], 5432)],
            apis: [at(&hosts[0], ROLES[0].1), at(&hosts[1], ROLES[0].1)],
        };
        let databases = Pair::start(folder, logs, databases).await?;
        let bucket = S3Server::start().await;
        let content = ContentStore::create(&ContentLocation::Bucket(bucket.bucket()))?;
        let data_dir = folder.join("data");
        fs::create_dir_all(&data_dir)?;
        let (info_sender, info) = watch::channel(None);
        let recipe = chain_command(&data_dir);
        let up = Process::start("crtx up", Kind::Up(info_sender), logs.join("up.log"), recipe);
        up.ready(START_LIMIT).await?;
        let printed = info.borrow().clone().context("crtx up is ready")?;
        let port =
            |url: &str| -> Result<u16> { Ok(url.rsplit(':').next().context("a port")?.trim_matches('/').parse()?) };
        let bucket_url = bucket.settings().endpoint.context("an endpoint")?;
        let forwards = [(RPC, &printed.rpc_url), (WEBSOCKET, &printed.ws_url), (BUCKET, &bucket_url)];
        let forwards: Vec<Forward> = forwards
            .into_iter()
            .map(|(from, url)| Ok(Forward { from: (HERE, from).into(), to: port(url)?, as_local_host: from != BUCKET }))
            .collect::<Result<_>>()?;
        let edge = HaProxy::start(Command::new("haproxy"), HERE, addresses, &forwards, &logs.join("edge.cfg"))?;
        let pool = PgPool::connect_lazy(&format!("postgres://postgres@{HERE}:{}/crtx", haproxy::PRIMARY))?;
        let edge_url = format!("http://{HERE}:{}", haproxy::API);
        let base_url = Some(edge_url.clone());
        let marketplace = Marketplace { data_dir, info, base_url, here: HERE.into(), content };
        let mut machines = Self {
            marketplace,
            hosts: Vec::new(),
            databases,
            pool,
            up,
            edge: edge_url,
            _edge: edge,
            bucket,
            _network: network,
        };
        for (number, machine) in hosts.into_iter().enumerate() {
            let previous = previous.clone().filter(|_| number == 1);
            let config = configuration(&printed, &machines.bucket, logs, machine.name, previous.is_none())?;
            let program = previous.unwrap_or_else(server_binary);
            machines.hosts.push(Host::start(machine, addresses, &program, &config, logs)?);
        }
        machines.ready().await?;
        Ok(machines)
    }

    /// Waits until every process of every host is ready, and both databases are there.
    pub async fn ready(&self) -> Result<()> {
        self.databases.whole().await?;
        let client = Client::new()?;
        for host in &self.hosts {
            for (process, (_, port)) in host.processes.iter().zip(ROLES) {
                process.ready(START_LIMIT).await?;
                let (started, url) = (Instant::now(), format!("http://{}:{port}/readyz", host.machine.address));
                loop {
                    let answer = client.get(&url, None, Duration::from_secs(2)).await;
                    if answer.status() == Some(200) {
                        break;
                    }
                    ensure!(started.elapsed() < LIMIT, "{} is not ready: {answer:?}", process.name());
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
        Ok(())
    }

    pub fn base_urls(&self) -> Vec<String> {
        let url = |host: &Host| format!("http://{}:{}", host.machine.address, ROLES[0].1);
        self.hosts.iter().map(url).collect()
    }

    /// The host on which the leader runs, and the server process that holds its lock. `None` while there is none.
    pub async fn leader(&self, single: Single) -> Result<Option<Leader>> {
        // Class and number of the locks of `crates/store/src/leadership.rs`.
        let which = match single {
            Single::IndexerLeader => {
                "l.classid::bigint = x'63727478'::bigint AND l.objid::bigint = x'6c656164'::bigint"
            }
            Single::GatewayLeader => "l.classid::bigint = x'6372746c'::bigint AND l.objsubid = 2",
        };
        let statement = format!(
            "SELECT host(a.client_addr), a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
             WHERE l.locktype = 'advisory' AND l.granted AND {which}"
        );
        let started = Instant::now();
        let found: Option<(String, i32)> = loop {
            let statement = sqlx::AssertSqlSafe(statement.as_str());
            match sqlx::query_as(statement).fetch_optional(&self.pool).await {
                Ok(found) => break found,
                // The connection may have been one to a primary that is gone.
                Err(error) => ensure!(started.elapsed() < LIMIT, "{error}"),
            }
        };
        let Some((address, backend)) = found else { return Ok(None) };
        let address: Ipv4Addr = address.parse()?;
        let host = self.hosts.iter().position(|host| host.machine.address == address);
        Ok(Some(Leader { host: host.context("a leader on a host")?, backend }))
    }

    /// What runs, for a report.
    pub fn describe(&self) -> String {
        let mut text = format!("  databases: {:?}\n", self.databases.roles());
        for process in self.hosts.iter().flat_map(|host| &host.processes).chain([&self.up]) {
            text += &format!("  {}: {:?}, log {}\n", process.name(), process.status(), process.log().display());
        }
        text
    }
}

impl Host {
    fn start(machine: Machine, addresses: Addresses, program: &Path, config: &Path, logs: &Path) -> Result<Self> {
        let file = logs.join(format!("{}.cfg", machine.name));
        let haproxy = HaProxy::start(machine.command("haproxy"), Ipv4Addr::LOCALHOST, addresses, &[], &file)?;
        let start = |(role, port): (&'static str, u16)| {
            let listen = SocketAddr::from((machine.address, port));
            let (on, program, config) = (machine.clone(), program.to_owned(), config.to_owned());
            let recipe = move || {
                let mut command = on.command(&program.to_string_lossy());
                command.args(["--role", role, "--listen", &listen.to_string(), "--config"]).arg(&config);
                command.env_remove("DATABASE_URL");
                command.into()
            };
            let name = format!("{} {role}", machine.name);
            let log = logs.join(format!("{}-{role}.log", machine.name));
            Process::start(&name, Kind::Listens(listen), log, Box::new(recipe))
        };
        let processes = ROLES.map(start).into();
        Ok(Self { machine, processes, _haproxy: haproxy })
    }

    /// A power cut: nothing leaves the machine any more, and then everything on it is gone.
    pub fn lose_power(&self) -> Result<()> {
        self.machine.cut()?;
        for process in &self.processes {
            process.kill();
        }
        Ok(())
    }

    /// Sends a signal to the process of a role that runs now.
    pub fn signal(&self, role: usize, signal: Signal) -> Option<Pid> {
        let pid = Pid::from_raw(self.processes.get(role)?.pid()?);
        kill(pid, signal).ok().map(|()| pid)
    }
}

/// The chain alone: no machine of the marketplace.
fn chain_command(data_dir: &Path) -> crate::process::Recipe {
    let data_dir = data_dir.to_owned();
    Box::new(move || {
        let mut command = tokio::process::Command::new(crtx_binary());
        command.args(["up", "--json", "--services", "none", "--settle-grace", GRACE, "--data-dir"]).arg(&data_dir);
        command
    })
}

/// The configuration that `crtx up` wrote, with the databases behind HAProxy, the bucket, and the node as the machines reach
/// them.
fn configuration(info: &Info, bucket: &S3Server, folder: &Path, name: &str, standby: bool) -> Result<PathBuf> {
    let text = fs::read_to_string(&info.server_config)?;
    let BucketSettings { name: bucket, prefix, credentials, .. } = bucket.settings();
    let (id, secret) = credentials.context("a key")?;
    let mut lines = Vec::new();
    for line in text.lines() {
        let value = line.split_once(" = ").map(|(key, _)| key);
        match (value, line) {
            (Some("url"), _) => {
                lines.push(format!("url = \"postgres://postgres@127.0.0.1:{}/crtx\"", haproxy::PRIMARY));
                if standby {
                    lines.push(format!("standby_url = \"postgres://postgres@127.0.0.1:{}/crtx\"", haproxy::STANDBY));
                }
            }
            (Some("dir"), _) => lines.push(format!(
                "s3_bucket = \"{bucket}\"\ns3_prefix = \"{prefix}\"\ns3_endpoint = \"http://{HERE}:{BUCKET}\"\n\
                 s3_access_key_id = \"{id}\"\ns3_secret_access_key = \"{secret}\""
            )),
            (Some("urls"), _) => lines.push(format!("urls = \"http://{HERE}:{RPC}\"")),
            (Some("ws_url"), _) => lines.push(format!("ws_url = \"ws://{HERE}:{WEBSOCKET}\"")),
            _ => lines.push(line.to_owned()),
        }
    }
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, lines.join("\n") + "\n")?;
    Ok(path)
}
