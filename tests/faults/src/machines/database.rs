//! A PostgreSQL primary and its synchronous standby, each on a machine of its own, and what watches over them: a primary
//! that does not answer is ended and its standby promoted; a standby that does not answer is no longer waited for. That is
//! the work of a cluster manager, which a deployment takes from elsewhere.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use crtx_store::PgPool;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, User},
};
use sqlx::{Connection, PgConnection};
use tokio::{
    net::TcpStream,
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::network::Machine;
use crate::postgres::processes;

/// PostgreSQL refuses to run as root.
const USER: &str = "postgres";
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// A server that does not answer so fast, twice in a row, is not there.
const ANSWER: Duration = Duration::from_millis(700);
const LIMIT: Duration = Duration::from_secs(60);

/// `remote_apply`: the standby shows what was acknowledged. The last two: a read on the standby must not hold commits up.
const SETTINGS: &str = "
listen_addresses = '*'
max_connections = 300
synchronous_commit = remote_apply
hot_standby_feedback = on
max_standby_streaming_delay = 100ms
wal_receiver_timeout = 3s
wal_sender_timeout = 3s
shared_buffers = 64MB
unix_socket_directories = ''
";

/// One server.
pub struct Server {
    pub machine: Machine,
    data: PathBuf,
    log: PathBuf,
}

/// What the watch sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Which of the two servers.
    pub primary: usize,
    /// Whether what is acknowledged is on both.
    pub synchronous: bool,
    pub promotions: usize,
}

/// Both servers. They end when this is dropped.
pub struct Pair {
    pub servers: Arc<[Server; 2]>,
    roles: watch::Receiver<Roles>,
    watch: JoinHandle<()>,
}

impl Pair {
    pub async fn start(folder: &Path, logs: &Path, machines: [Machine; 2]) -> Result<Self> {
        let [one, two] = machines;
        let server = |machine: Machine| {
            let log = logs.join(format!("{}.log", machine.name));
            Server { data: folder.join(machine.name), log, machine }
        };
        let servers = Arc::new([server(one), server(two)]);
        let [primary, standby] = &*servers;
        primary.initialise()?;
        primary.run()?;
        primary.answers(LIMIT).await?;
        primary.run_sql("CREATE ROLE haproxy LOGIN").await?;
        primary.run_sql("CREATE DATABASE crtx").await?;
        standby.follow(primary).await?;
        primary.wait_for_standby(true).await?;
        let (sender, roles) = watch::channel(Roles { primary: 0, synchronous: true, promotions: 0 });
        let watched = Arc::clone(&servers);
        let watch = tokio::spawn(async move { watch_over(&watched, &sender).await });
        Ok(Self { servers, roles, watch })
    }

    pub fn roles(&self) -> Roles {
        *self.roles.borrow()
    }

    pub fn primary(&self) -> &Server {
        &self.servers[self.roles().primary]
    }

    pub fn standby(&self) -> &Server {
        &self.servers[1 - self.roles().primary]
    }

    /// Waits until what is acknowledged is on both servers again.
    pub async fn whole(&self) -> Result<()> {
        let mut roles = self.roles.clone();
        let whole = timeout(LIMIT, roles.wait_for(|roles| roles.synchronous)).await;
        whole.context("the standby does not come back")?.context("nobody watches")?;
        Ok(())
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.watch.abort();
        self.servers.iter().for_each(Server::kill);
    }
}

/// Never returns.
async fn watch_over(servers: &[Server; 2], roles: &watch::Sender<Roles>) {
    let mut missed = [0, 0];
    loop {
        sleep(LOOK_EVERY).await;
        let (one, two) = tokio::join!(servers[0].is_there(), servers[1].is_there());
        for (missed, there) in missed.iter_mut().zip([one, two]) {
            *missed = if there { 0 } else { *missed + 1 };
        }
        let now = *roles.borrow();
        let (primary, standby) = (&servers[now.primary], &servers[1 - now.primary]);
        let (primary_lost, standby_lost) = (missed[now.primary] >= 2, missed[1 - now.primary] >= 2);
        let done = if primary_lost && now.synchronous {
            // First the old primary ends, so that there are never two.
            primary.kill();
            let promoted = standby.run_sql("SELECT pg_promote(true, 10)").await;
            roles.send_modify(|roles| {
                *roles = Roles { primary: 1 - now.primary, synchronous: false, promotions: now.promotions + 1 };
            });
            promoted
        } else if standby_lost && now.synchronous {
            roles.send_modify(|roles| roles.synchronous = false);
            primary.wait_for_standby(false).await
        } else if !now.synchronous && !primary_lost {
            let back = rejoin(standby, primary).await;
            if back.is_ok() {
                roles.send_modify(|roles| roles.synchronous = true);
            }
            back
        } else {
            Ok(())
        };
        if let Err(error) = done {
            eprintln!("databases: {error:#}");
        }
    }
}

/// Makes a server that was lost a standby again, once its machine is there.
async fn rejoin(standby: &Server, primary: &Server) -> Result<()> {
    if standby.is_reachable().await {
        standby.kill();
        standby.follow(primary).await?;
        return primary.wait_for_standby(true).await;
    }
    bail!("the machine {} is away", standby.machine.name)
}

impl Server {
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}:5432/{database}", self.machine.address)
    }

    /// SIGKILL of all its processes.
    pub fn kill(&self) {
        for pid in self.processes() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// All processes that work in the data directory.
    fn processes(&self) -> Vec<i32> {
        let works_here = |pid: &i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == self.data);
        processes().filter(works_here).collect()
    }

    fn program(&self, name: &str) -> Result<Command> {
        let mut command = self.machine.command("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--init-groups"]).arg(programs()?.join(name));
        command.stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
        Ok(command)
    }

    fn initialise(&self) -> Result<()> {
        self.make_folder()?;
        let mut initdb = self.program("initdb")?;
        run(initdb.args(["--auth", "trust", "--username", USER, "--encoding", "UTF8", "--pgdata"]).arg(&self.data))?;
        let append = |file: &str, more: &str| -> Result<()> {
            let path = self.data.join(file);
            Ok(fs::write(&path, fs::read_to_string(&path)? + more)?)
        };
        append("postgresql.conf", SETTINGS)?;
        append("pg_hba.conf", "host all all 10.77.0.0/24 trust\nhost replication all 10.77.0.0/24 trust\n")
    }

    fn make_folder(&self) -> Result<()> {
        let user = User::from_name(USER)?.context("the user postgres")?;
        fs::DirBuilder::new().mode(0o700).create(&self.data)?;
        Ok(chown(&self.data, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?)
    }

    fn run(&self) -> Result<()> {
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut server = self.program("postgres")?;
        server.arg("-D").arg(&self.data).stderr(log);
        let mut child = server.spawn().context("cannot start PostgreSQL")?;
        // Waited for, so that a killed one leaves no entry behind.
        std::thread::spawn(move || child.wait());
        Ok(())
    }

    /// Copies the primary and follows it.
    async fn follow(&self, primary: &Self) -> Result<()> {
        if self.data.exists() {
            fs::remove_dir_all(&self.data)?;
        }
        self.make_folder()?;
        let mut copy = self.program("pg_basebackup")?;
        copy.args(["--checkpoint", "fast", "--wal-method", "stream", "--write-recovery-conf", "--no-sync"]);
        copy.args(["--dbname", &primary.url(USER), "--pgdata"]).arg(&self.data);
        tokio::task::spawn_blocking(move || run(&mut copy)).await??;
        // A promoted standby has none of its own to wait for.
        let settings = self.data.join("postgresql.auto.conf");
        fs::write(&settings, fs::read_to_string(&settings)? + "synchronous_standby_names = ''\n")?;
        self.run()?;
        self.answers(LIMIT).await
    }

    /// Whether commits wait for the standby. Returns when they do.
    async fn wait_for_standby(&self, wait: bool) -> Result<()> {
        let names = if wait { "*" } else { "" };
        if wait {
            self.until("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')").await?;
        }
        self.run_sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'")).await?;
        self.run_sql("SELECT pg_reload_conf()").await?;
        if wait {
            self.until("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')").await?;
        }
        Ok(())
    }

    async fn until(&self, question: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            let mut connection = PgConnection::connect(&self.url(USER)).await?;
            let yes: bool = sqlx::query_scalar(sqlx::AssertSqlSafe(question)).fetch_one(&mut connection).await?;
            if yes {
                return Ok(());
            }
            ensure!(started.elapsed() < LIMIT, "never: {question}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn run_sql(&self, statement: &str) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url(USER)).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await?;
        Ok(())
    }

    async fn is_there(&self) -> bool {
        let asked = async { PgConnection::connect(&self.url(USER)).await?.ping().await };
        matches!(timeout(ANSWER, asked).await, Ok(Ok(())))
    }

    /// Whether its machine answers, if only that nobody listens.
    async fn is_reachable(&self) -> bool {
        match timeout(ANSWER, TcpStream::connect((self.machine.address, 5432))).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => error.kind() == ErrorKind::ConnectionRefused,
            Err(_) => false,
        }
    }

    async fn answers(&self, limit: Duration) -> Result<()> {
        let started = Instant::now();
        while !self.is_there().await {
            let log = self.log.display();
            ensure!(started.elapsed() < limit, "{} does not start; see {log}", self.machine.name);
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// A pool on this server, whatever its role.
    pub fn pool(&self) -> Result<PgPool> {
        Ok(PgPool::connect_lazy(&self.url("crtx"))?)
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// The newest of Debian's PostgreSQL servers.
fn programs() -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").context("Debian's package postgresql")?;
    let newest = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok()).max();
    Ok(format!("/usr/lib/postgresql/{}/bin", newest.context("no version of PostgreSQL")?).into())
}
