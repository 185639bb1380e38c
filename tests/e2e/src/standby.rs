//! A standby that follows a cluster synchronously, with the settings of `docs/deploy.md`.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use crtx_child::supervised;
use crtx_postgres::PostgresCluster;
use tokio::process::{Child, Command};

use crate::free_port;

/// Many times what a step takes.
const LIMIT: Duration = Duration::from_secs(60);

/// It ends when this is dropped.
pub struct Standby {
    programs: PathBuf,
    url: String,
    _server: Child,
}

impl Standby {
    /// Copies the cluster, follows it, and lets its commits wait for this one from now on.
    pub async fn of(cluster: &PostgresCluster) -> Result<Self> {
        let primary = &cluster.url();
        let data = PathBuf::from(ask(Path::new("psql"), primary, "SHOW data_directory").await?);
        let owner = fs::metadata(&data)?;
        let process = fs::read_to_string(data.join("postmaster.pid"))?;
        let program = fs::read_link(format!("/proc/{}/exe", process.lines().next().unwrap_or_default()))?;
        let programs = program.parent().context("PostgreSQL is in a folder")?.to_path_buf();
        let as_owner = |command: &mut Command| {
            command.uid(owner.uid()).gid(owner.gid()).current_dir("/");
        };

        let copy = data.with_file_name("standby");
        let mut backup = Command::new(programs.join("pg_basebackup"));
        as_owner(backup.args(["--checkpoint", "fast", "--write-recovery-conf", "--no-sync", "--dbname", primary]));
        output(backup.arg("--pgdata").arg(&copy)).await?;

        let port = free_port()?;
        let mut server = supervised(["INT", "QUIT"], &program);
        server.arg("-D").arg(&copy);
        for setting in [
            "listen_addresses=127.0.0.1",
            &format!("port={port}"),
            "unix_socket_directories=",
            // No fewer than the primary has.
            "max_connections=200",
            "hot_standby_feedback=on",
            "max_standby_streaming_delay=100ms",
            "wal_receiver_timeout=3s",
        ] {
            server.args(["-c", setting]);
        }
        as_owner(server.stdout(Stdio::null()).stderr(Stdio::null()));
        let url = format!("postgres://crtx@127.0.0.1:{port}/crtx");
        let standby = Self { programs, url, _server: server.spawn()? };
        let psql = standby.programs.join("psql");
        standby.until("SELECT pg_is_in_recovery()").await?;
        for change in [
            "ALTER SYSTEM SET synchronous_commit = remote_apply",
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "SELECT pg_reload_conf()",
        ] {
            ask(&psql, primary, change).await?;
        }
        until(&psql, primary, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')").await?;
        Ok(standby)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until it answers the question with yes.
    pub async fn until(&self, question: &str) -> Result<()> {
        until(&self.programs.join("psql"), &self.url, question).await
    }
}

async fn until(psql: &Path, url: &str, question: &str) -> Result<()> {
    let yes = async {
        while ask(psql, url, question).await.ok().as_deref() != Some("t") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LIMIT, yes).await.with_context(|| format!("never: {question}"))
}

/// The one value of an answer.
async fn ask(psql: &Path, url: &str, statement: &str) -> Result<String> {
    let mut command = Command::new(psql);
    output(command.args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", statement, url])).await
}

async fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().await.with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
