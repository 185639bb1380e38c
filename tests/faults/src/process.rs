//! A service that is started again whenever it ends, as a service manager does, until it is stopped.
//! Tests kill, pause and stop it by its process id, and no other process.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use crtx_e2e::{Info, Starting, Up, crtx_binary, free_port};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    sync::watch,
    task::JoinHandle,
};

/// Pause between the end of a service and its next start.
const RESTART_AFTER: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(20);

/// Where a service stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not running; started again soon.
    Down,
    Starting {
        pid: i32,
        /// Counts the starts of this service.
        start: u32,
    },
    Ready {
        pid: i32,
        start: u32,
    },
    /// NotedCall to stop, and ended.
    Stopped,
}

impl Status {
    const fn pid(self) -> Option<i32> {
        match self {
            Self::Starting { pid, .. } | Self::Ready { pid, .. } => Some(pid),
            Self::Down | Self::Stopped => None,
        }
    }

    const fn start(self) -> Option<u32> {
        match self {
            Self::Starting { start, .. } | Self::Ready { start, .. } => Some(start),
            Self::Down | Self::Stopped => None,
        }
    }
}

/// What is run, and how its readiness shows.
pub enum Kind {
    /// `crtx up --json`: ready with its JSON line, which is sent here.
    Up(watch::Sender<Option<Info>>),
    /// Ready when this address accepts connections.
    Listens(SocketAddr),
}

/// How a service is started: the program, its arguments and its environment.
pub type Recipe = Box<dyn Fn() -> Command + Send + Sync>;

/// A supervised service. Everything that runs is killed when this is dropped.
pub struct Process {
    shared: Arc<Shared>,
    supervisor: JoinHandle<()>,
}

struct Shared {
    name: String,
    recipe: Recipe,
    kind: Kind,
    log: PathBuf,
    status: watch::Sender<Status>,
    stopping: watch::Sender<bool>,
}

enum Running {
    Up(Box<Up>),
    Child(Child),
}

impl Process {
    /// Starts the service; its standard error is appended to `log`.
    pub fn start(name: &str, kind: Kind, log: PathBuf, recipe: Recipe) -> Self {
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            recipe,
            kind,
            log,
            status: watch::Sender::new(Status::Down),
            stopping: watch::Sender::new(false),
        });
        let supervisor = tokio::spawn(supervise(Arc::clone(&shared)));
        Self { shared, supervisor }
    }

    /// A `crtx-server` with these settings in its environment, and where it listens.
    pub fn server(
        name: &str,
        roles: &'static str,
        config: &Path,
        logs: &Path,
        set: Vec<(&'static str, String)>,
    ) -> Result<(Self, String)> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let config = config.to_owned();
        let recipe = move || {
            let mut command = Command::new(crtx_binary().with_file_name("crtx-server"));
            command.args(["--role", roles, "--listen", &listen.to_string(), "--config"]).arg(&config);
            command.env_remove("DATABASE_URL").envs(set.clone());
            command
        };
        let process = Self::start(name, Kind::Listens(listen), logs.join(format!("{name}.log")), Box::new(recipe));
        Ok((process, format!("http://{listen}")))
    }

    pub fn name(&self) -> &str {
        &self.shared.name
    }

    pub fn status(&self) -> Status {
        *self.shared.status.borrow()
    }

    /// Process id, while it runs.
    pub fn pid(&self) -> Option<i32> {
        self.status().pid()
    }

    pub fn log(&self) -> &PathBuf {
        &self.shared.log
    }

    /// Waits until the service is ready.
    pub async fn ready(&self, limit: Duration) -> Result<()> {
        self.wait_for(limit, |status| matches!(status, Status::Ready { .. })).await.map(drop)
    }

    /// Waits until the service has been started again after `start`, ready or not.
    pub async fn started_after(&self, start: Option<u32>, limit: Duration) -> Result<Status> {
        self.wait_for(limit, |status| status.start() > start).await
    }

    /// Number of the current or last start, if it runs.
    pub fn start_number(&self) -> Option<u32> {
        self.status().start()
    }

    async fn wait_for(&self, limit: Duration, reached: impl FnMut(&Status) -> bool) -> Result<Status> {
        let mut status = self.shared.status.subscribe();
        let waited = tokio::time::timeout(limit, status.wait_for(reached)).await;
        let log = self.shared.log.display();
        let waited = waited.with_context(|| format!("{} does not start; see {log}", self.name()))?;
        Ok(*waited.context("the supervisor is gone")?)
    }

    /// Sends a signal to the service. False if it does not run.
    pub fn signal(&self, signal: Signal) -> bool {
        self.pid().is_some_and(|pid| kill(Pid::from_raw(pid), signal).is_ok())
    }

    /// SIGKILL: what a crash does. The service is started again.
    pub fn kill(&self) -> bool {
        self.signal(Signal::SIGKILL)
    }

    /// SIGTERM, and the end of the supervision. Returns how long the service took to end.
    pub async fn stop(self, limit: Duration) -> Result<Duration> {
        let started = Instant::now();
        self.shared.stopping.send_replace(true);
        self.signal(Signal::SIGTERM);
        let ended = self.wait_for(limit, |status| *status == Status::Stopped).await;
        if ended.is_err() {
            self.kill();
            bail!("{} runs on {} s after SIGTERM", self.name(), limit.as_secs());
        }
        Ok(started.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The children are killed with their handles, which the task owns.
        self.supervisor.abort();
    }
}

async fn supervise(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    let mut start = 0u32;
    while !*stopping.borrow() {
        start = start.saturating_add(1);
        let ended = match run_once(&shared, start).await {
            Ok(ended) => ended,
            Err(error) => format!("{error:#}"),
        };
        shared.note(&format!("start {start} ended: {ended}"));
        shared.status.send_replace(Status::Down);
        tokio::select! {
            () = tokio::time::sleep(RESTART_AFTER) => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }
    shared.status.send_replace(Status::Stopped);
}

/// From the start of the service to its end.
async fn run_once(shared: &Shared, start: u32) -> Result<String> {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(&shared.log)?;
    let mut command = (shared.recipe)();
    command.stderr(log).kill_on_drop(true);
    let mut running = match &shared.kind {
        Kind::Up(info) => {
            let starting: Starting = Up::spawn(&mut command)?;
            let pid = i32::try_from(starting.pid())?;
            shared.status.send_replace(Status::Starting { pid, start });
            let up = starting.ready().await?;
            info.send_replace(Some(up.info().clone()));
            shared.status.send_replace(Status::Ready { pid, start });
            Running::Up(Box::new(up))
        }
        Kind::Listens(address) => {
            let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
            let pid = i32::try_from(child.id().context("it has just been started")?)?;
            shared.status.send_replace(Status::Starting { pid, start });
            if let Some(status) = listening_or_ended(&mut child, *address).await? {
                return Ok(format!("{status}, before it listened"));
            }
            shared.status.send_replace(Status::Ready { pid, start });
            Running::Child(child)
        }
    };
    running.ended().await
}

/// `None` once the address accepts connections; the exit status if the service ends before.
async fn listening_or_ended(child: &mut Child, address: SocketAddr) -> Result<Option<std::process::ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if matches!(tokio::time::timeout(POLL * 10, TcpStream::connect(address)).await, Ok(Ok(_))) {
            return Ok(None);
        }
        tokio::time::sleep(POLL).await;
    }
}

impl Running {
    async fn ended(&mut self) -> Result<String> {
        Ok(match self {
            Self::Up(up) => up.ended().await?.to_string(),
            Self::Child(child) => child.wait().await?.to_string(),
        })
    }
}

impl Shared {
    fn note(&self, text: &str) {
        use std::io::Write;
        let at = chrono::Utc::now().to_rfc3339();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.log);
        if let Ok(mut file) = file {
            let _ = writeln!(file, "--- {at} {}: {text}", self.name);
        }
    }
}
