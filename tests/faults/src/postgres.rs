//! The processes of a private PostgreSQL cluster, found through the data directory it lies in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// The server of one data directory of `crtx up`.
#[derive(Clone, Debug)]
pub struct PostgresServer {
    data_dir: PathBuf,
}

impl PostgresServer {
    pub fn of(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_owned() }
    }

    /// The folder that holds `postmaster.pid`: below the data directory, or where `elsewhere` says.
    fn cluster(&self) -> PathBuf {
        let below = self.data_dir.join("postgres");
        match fs::read_to_string(below.join("elsewhere")) {
            Ok(folder) => PathBuf::from(folder.trim()),
            Err(_) => below,
        }
    }

    /// The server's main process, while it runs.
    pub fn postmaster(&self) -> Option<i32> {
        let file = fs::read_to_string(self.cluster().join("data/postmaster.pid")).ok()?;
        let pid: i32 = file.lines().next()?.trim().parse().ok()?;
        is_postgres(pid).then_some(pid)
    }

    /// Every process of the server, the main one first.
    pub fn processes(&self) -> Vec<i32> {
        let Some(postmaster) = self.postmaster() else { return Vec::new() };
        let children = processes().filter(|pid| parent(*pid) == Some(postmaster));
        std::iter::once(postmaster).chain(children).collect()
    }

    /// The processes and the end of the server's log, for a report.
    pub fn describe(&self) -> String {
        let named = fs::read_to_string(self.cluster().join("data/postmaster.pid")).unwrap_or_default();
        let mut text = format!("  PostgreSQL: postmaster.pid says {:?}\n", named.lines().next());
        let pids = named.lines().next().and_then(|line| line.trim().parse().ok());
        for pid in pids.into_iter().chain(self.processes()) {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            text += &format!("  {}\n", stat.chars().take(60).collect::<String>());
        }
        let log = fs::read_to_string(self.cluster().join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(20)) {
            text += &format!("  {line}\n");
        }
        text
    }

    /// Processes that serve a connection.
    pub fn backends(&self) -> Vec<i32> {
        let serves = |pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|title| title.starts_with("postgres: ") && title.contains(" crtx "))
        };
        self.processes().into_iter().skip(1).filter(serves).collect()
    }

    /// SIGKILL of the main process: its children notice and end. False if it does not run.
    pub fn kill(&self) -> bool {
        self.postmaster().is_some_and(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok())
    }

    /// Sends a signal to every process of the server. False if it does not run.
    pub fn signal_all(&self, signal: Signal) -> bool {
        let processes = self.processes();
        for pid in &processes {
            let _ = kill(Pid::from_raw(*pid), signal);
        }
        !processes.is_empty()
    }
}

/// Every process of this machine.
pub(crate) fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the state and the parent follow it.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// A stale file may name a process of somebody else.
fn is_postgres(pid: i32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe"))
        .is_ok_and(|program| program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("postgres")))
}
