//! A private PostgreSQL cluster: found or installed, initialised once, run as a child process that
//! listens on a Unix socket only and ends with this process, however it ends.

mod binaries;
mod cluster_folder;
mod install;
mod memory;
mod unsynced;

use std::{
    fs,
    io::Write,
    path::Path,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use sqlx::{Connection, PgConnection, Postgres, migrate::MigrateDatabase};
use tokio::process::{Child, ChildStdin, Command};

use self::{
    binaries::{Binaries, Search},
    cluster_folder::{ClusterFolder, NAME},
    unsynced::NOTE,
};

pub use self::cluster_folder::remove;

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);

/// A running private cluster. Dropping it also stops the server, without waiting for it.
pub struct PostgresCluster {
    child: Child,
    /// The server ends when this closes. Kept apart from `child`, whose `wait` would close it.
    leash: Option<ChildStdin>,
    cluster_folder: ClusterFolder,
}

impl PostgresCluster {
    /// Starts the cluster below `data_dir`, initialising it first if there is none yet. A new one does not sync
    /// what it writes until [`PostgresCluster::begin_syncing`].
    pub async fn start(data_dir: &Path, say: &(dyn Fn(&str) + Send + Sync)) -> anyhow::Result<Self> {
        let cluster_folder = ClusterFolder::below(data_dir)?;
        let binaries = match Search::of_this_machine().find()? {
            Some(found) => found,
            None => install::install(&cluster_folder.folder.join("programs"), say).await?,
        };
        wait_for_predecessor(&cluster_folder.data().join("postmaster.pid")).await?;
        check_version(&binaries, &cluster_folder).await?;
        let note = cluster_folder.folder.join(NOTE);
        if note.exists() {
            say("the last run stopped while the database was being set up: it is made again");
            remove_if_there(&cluster_folder.data())?;
        }
        if !cluster_folder.data().join("PG_VERSION").exists() {
            fs::write(note, "").context("the cluster's note")?;
            initialise(&binaries, &cluster_folder).await?;
        }
        let mut child = spawn(&binaries, &cluster_folder)?;
        let leash = child.stdin.take();
        wait_for_answer(&mut child, &cluster_folder).await?;
        let cluster = Self { child, leash, cluster_folder };
        let url = cluster.url();
        if !Postgres::database_exists(&url).await? {
            Postgres::create_database(&url).await?;
        }
        Ok(cluster)
    }

    /// Ends the set-up of a new cluster: what was written before is synced, and so is what is committed from now on.
    /// Until then, nothing may be served from it. Does nothing to one that is not new.
    pub async fn begin_syncing(&self) -> anyhow::Result<()> {
        if !self.cluster_folder.folder.join(NOTE).exists() {
            return Ok(());
        }
        let mut connection = PgConnection::connect(&self.url()).await.context("the new cluster")?;
        // The files are written now, while that needs no sync; later each of them would be synced by itself.
        for statement in ["CHECKPOINT", "ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()"] {
            sqlx::query(statement).execute(&mut connection).await.context(statement)?;
        }
        connection.close().await?;
        let started = Instant::now();
        while !self.syncs().await? {
            if started.elapsed() > START_LIMIT {
                bail!("the new cluster does not begin to sync:\n{}", self.cluster_folder.end_of_log());
            }
            tokio::time::sleep(POLL).await;
        }
        let folder = self.cluster_folder.folder.clone();
        tokio::task::spawn_blocking(move || unsynced::settle(&folder)).await.context("the cluster's sync")?
    }

    /// Whether a new process of the server syncs.
    async fn syncs(&self) -> anyhow::Result<bool> {
        let mut connection = PgConnection::connect(&self.url()).await?;
        let on: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(on == "on")
    }

    /// Connection string of the database.
    pub fn url(&self) -> String {
        self.cluster_folder.url(NAME)
    }

    /// Returns when the server has ended by itself, which it should not.
    pub async fn ended(&mut self) -> anyhow::Error {
        match self.child.wait().await {
            Ok(status) => {
                anyhow::anyhow!("the PostgreSQL server ended with {status}:\n{}", self.cluster_folder.end_of_log())
            }
            Err(error) => anyhow::Error::new(error).context("the PostgreSQL server cannot be waited for"),
        }
    }

    /// Fast shutdown: running transactions are rolled back, everything committed is on disk.
    pub async fn stop(mut self) -> anyhow::Result<ExitStatus> {
        drop(self.leash.take());
        let ended = tokio::time::timeout(STOP_LIMIT, self.child.wait()).await;
        ended.context("the PostgreSQL server does not shut down")?.context("the PostgreSQL server cannot be waited for")
    }
}

fn spawn(binaries: &Binaries, cluster_folder: &ClusterFolder) -> anyhow::Result<Child> {
    let log =
        fs::OpenOptions::new().create(true).append(true).open(cluster_folder.log()).context("the server's log")?;
    let mut command = crtx_child::supervised(["INT", "QUIT"], &binaries.postgres());
    command.arg("-D").arg(cluster_folder.data());
    for setting in [
        "listen_addresses=".to_owned(),
        "unix_socket_permissions=0700".to_owned(),
        format!("unix_socket_directories={}", cluster_folder.socket.display()),
        // Several test programs share a server, each with pools of its own.
        "max_connections=200".to_owned(),
        "timezone=UTC".to_owned(),
        "log_timezone=UTC".to_owned(),
        format!("shared_buffers={}MB", memory::shared_buffers_mib()),
        // The mirror of a million accounts has gigabytes, and its changes are all over them: with the default of 1 GB there
        // is a checkpoint every few seconds, after which the server logs each page as a whole.
        "max_wal_size=4GB".to_owned(),
        "checkpoint_timeout=15min".to_owned(),
        // Statements are short, so JIT compilation takes longer than execution. The pools of the services say the same to any
        // server; this is for the connections of tests and tools.
        "jit=off".to_owned(),
    ] {
        command.args(["-c", &setting]);
    }
    command.stdout(log.try_clone()?).stderr(log);
    cluster_folder.run_as_owner(&mut command).spawn().context("the PostgreSQL server cannot be started")
}

/// Makes the cluster in another folder and moves it into place, so that a half-made one is never used.
async fn initialise(binaries: &Binaries, cluster_folder: &ClusterFolder) -> anyhow::Result<()> {
    let unfinished = cluster_folder.unfinished_data();
    remove_if_there(&unfinished)?;
    let mut command = Command::new(binaries.initdb());
    command.arg("-D").arg(&unfinished);
    command.args(["-U", NAME, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    command.stdin(Stdio::null());
    let output = cluster_folder.run_as_owner(&mut command).output().await.context("initdb cannot be started")?;
    if !output.status.success() {
        bail!("initdb ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let settings = fs::OpenOptions::new().append(true).open(unfinished.join("postgresql.auto.conf"));
    settings
        .and_then(|mut file| file.write_all(unsynced::SETTING.as_bytes()))
        .context("the new cluster cannot be configured")?;
    fs::rename(&unfinished, cluster_folder.data()).context("the new cluster cannot be moved into place")
}

fn remove_if_there(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context("a half-made cluster cannot be removed")?;
    }
    Ok(())
}

async fn wait_for_answer(child: &mut Child, cluster_folder: &ClusterFolder) -> anyhow::Result<()> {
    let (started, server) = (Instant::now(), cluster_folder.url("postgres"));
    loop {
        if let Ok(connection) = PgConnection::connect(&server).await {
            let _ = connection.close().await;
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            bail!("the PostgreSQL server ended with {status}:\n{}", cluster_folder.end_of_log());
        }
        if started.elapsed() > START_LIMIT {
            bail!("the PostgreSQL server does not answer:\n{}", cluster_folder.end_of_log());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// A killed `crtx up` leaves a server that is just shutting down.
async fn wait_for_predecessor(pid_file: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    while let Some(pid) = running_pid(pid_file) {
        if started.elapsed() > STOP_LIMIT {
            bail!("a PostgreSQL server (process {pid}) still uses {}; stop it first", pid_file.display());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

fn running_pid(pid_file: &Path) -> Option<i32> {
    let pid: i32 = fs::read_to_string(pid_file).ok()?.lines().next()?.trim().parse().ok()?;
    // Permission denied also means that it runs.
    let alive = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) != Err(nix::errno::Errno::ESRCH);
    (alive && is_postgres(pid)).then_some(pid)
}

/// After a reboot the number in the file can belong to anybody. Where that cannot be looked up, the
/// server itself decides at its start.
fn is_postgres(pid: i32) -> bool {
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(program) => program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("postgres")),
        Err(_) => Path::new(&format!("/proc/{pid}")).exists(),
    }
}

async fn check_version(binaries: &Binaries, cluster_folder: &ClusterFolder) -> anyhow::Result<()> {
    let Ok(made_by) = fs::read_to_string(cluster_folder.data().join("PG_VERSION")) else { return Ok(()) };
    let output = Command::new(binaries.postgres()).arg("--version").output().await?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)"
    let version = text.split_whitespace().nth(2).unwrap_or_default();
    let (made_by, major) = (made_by.trim(), version.split('.').next().unwrap_or_default());
    if made_by != major {
        bail!(
            "the data directory was made by PostgreSQL {made_by}, but {} is PostgreSQL {version}: name the folder of \
             the old one in PG_BIN, or start over with --fresh",
            binaries.dir.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
