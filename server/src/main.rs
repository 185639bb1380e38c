//! The `crtx-server` process: configured by a file, the environment and flags, stopped by Ctrl-C or SIGTERM.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Error, Result, anyhow};
use crtx_http::log::OneLine;
use crtx_server::{
    Running, Service, StopLimits,
    command_line::{self, Action, Arguments},
    config::{self, Loaded, LogFormat, Resolved, ServerSettings},
    process::{self, StopSignal},
    traces::{self, ExporterBuildError, Traces},
};
use crtx_store::{Pools, pools::PoolSizes};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// Limits of an orderly stop; together less than [`STOP_PATIENCE`].
const STOP_LIMITS: StopLimits = StopLimits { requests: Duration::from_secs(7), work: Duration::from_secs(17) };
/// What waits for a database that has forgotten its connection does not end.
const STOP_LIMITS_WITHOUT_DATABASE: StopLimits =
    StopLimits { requests: Duration::from_millis(500), work: Duration::from_millis(500) };
/// From the first signal to the end of the process.
const STOP_PATIENCE: Duration = Duration::from_secs(25);
/// The answer of `/readyz` comes from memory.
const READY_LIMIT: Duration = Duration::from_secs(3);
const READY_BYTES: u64 = 64 * 1024;
/// Exit status of wrong usage.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = match command_line::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    if arguments.action == Action::ConfigDocs {
        print!("{}", config::markdown());
        return ExitCode::SUCCESS;
    }
    let read = load(&arguments).and_then(|loaded| config::resolve(&loaded).map(|resolved| (loaded, resolved)));
    let (loaded, resolved) = match read {
        Ok(read) => read,
        Err(problems) => {
            eprintln!("crtx-server: {problems}");
            return ExitCode::from(USAGE);
        }
    };
    if arguments.action == Action::ConfigCheck {
        show(&loaded);
        return ExitCode::SUCCESS;
    }
    if arguments.action == Action::Ready {
        return ready(loaded.settings.listen);
    }
    let traces = match start_logs(&loaded.settings) {
        Ok(traces) => traces,
        Err(error) => {
            eprintln!("crtx-server: the traces: {error}");
            return ExitCode::from(USAGE);
        }
    };
    let code = process::run(STOP_PATIENCE, |stop| async move {
        let outcome = match arguments.action {
            Action::Rebuild => rebuild(resolved, stop).await,
            _ => run(resolved, stop).await,
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("crtx-server: {error:#}");
                ExitCode::FAILURE
            }
        }
    });
    if let Some(traces) = traces {
        traces.stop();
    }
    code
}

/// Writes the log to standard error, and sends traces if there is a collector.
fn start_logs(settings: &ServerSettings) -> Result<Option<Traces>, ExporterBuildError> {
    let roles: Vec<String> = settings.role.iter().map(|role| format!("{role:?}").to_lowercase()).collect();
    let collector = settings.traces.endpoint.as_ref();
    let traces = collector.map(|collector| Traces::to(&collector.0.0, &roles.join(","))).transpose()?;
    let of_spans = traces.as_ref().map_or("", |_| traces::SPANS);
    let filter = EnvFilter::try_new(format!("{of_spans},{}", settings.log)).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| OneLine(std::io::stderr()));
    let lines = match settings.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().with_current_span(false).boxed(),
    };
    tracing_subscriber::registry().with(lines).with(filter).with(traces.clone()).init();
    Ok(traces)
}

fn load(arguments: &Arguments) -> Result<Loaded, config::Problems> {
    let environment = |name: &str| std::env::var(name).ok();
    config::load(arguments.file.as_deref(), &environment, &arguments.flags)
}

/// Whether the process that listens there is ready; if not, why.
fn ready(address: SocketAddr) -> ExitCode {
    let ask = || -> Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, READY_LIMIT)?;
        stream.set_read_timeout(Some(READY_LIMIT))?;
        write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(READY_BYTES).read_to_string(&mut answer)?;
        Ok(answer)
    };
    match ask() {
        Ok(answer) if answer.starts_with("HTTP/1.1 200 ") => return ExitCode::SUCCESS,
        Ok(answer) => eprintln!("crtx-server: not ready: {}", answer.lines().last().unwrap_or_default()),
        Err(error) => eprintln!("crtx-server: no answer from {address}: {error:#}"),
    }
    ExitCode::FAILURE
}

/// One line for each setting: key, value, source.
fn show(loaded: &Loaded) {
    let rows = loaded.in_force();
    let width = |column: fn(&(String, String, String)) -> &str| rows.iter().map(|row| column(row).len()).max();
    let (keys, values) = (width(|row| &row.0).unwrap_or(0), width(|row| &row.1).unwrap_or(0));
    for (key, value, source) in &rows {
        println!("{key:<keys$}  {value:<values$}  {source}");
    }
}

async fn run(resolved: Resolved, stop: StopSignal) -> Result<()> {
    let (failures, mut failed) = mpsc::unbounded_channel::<Error>();
    let (roles, listen) = (resolved.service.roles.clone(), resolved.listen);
    let (running, pools) = tokio::select! {
        started = start(resolved, &failures) => started?,
        () = stop.cancelled() => return Ok(()),
    };
    tracing::info!(address = %listen, ?roles, "ready");
    let (outcome, limits) = tokio::select! {
        () = stop.cancelled() => (Ok(()), STOP_LIMITS),
        failure = failed.recv() => (failure.map_or(Ok(()), Err), STOP_LIMITS),
        () = pools.silent() => (Err(anyhow!("the database has forgotten the connections of this process")), STOP_LIMITS_WITHOUT_DATABASE),
    };
    running.stop(limits).await;
    let _ = timeout(limits.work, pools.close()).await;
    outcome
}

/// Connects to the database, and brings its schema up to date.
async fn connect(url: &str, standby_url: Option<&str>, sizes: PoolSizes) -> Result<Pools> {
    let pools = Pools::connect(url, standby_url, sizes).await.context("cannot reach the database")?;
    crtx_store::migrate(&pools.indexer).await.context("cannot bring the database's schema up to date")?;
    Ok(pools)
}

/// What is done is stored, so a signal may end it at any time.
async fn rebuild(resolved: Resolved, stop: StopSignal) -> Result<()> {
    let indexer = resolved.service.indexer.context("`rebuild` needs the settings of the role `indexer`")?;
    let pools = connect(&resolved.database_url.reveal().0, None, resolved.pool_sizes).await?;
    let outcome = tokio::select! {
        rebuilt = crtx_server::rebuild::run(&indexer, &pools.indexer) => rebuilt,
        () = stop.cancelled() => {
            eprintln!("crtx-server: stopped; `rebuild` goes on from here the next time");
            Ok(())
        }
    };
    pools.close().await;
    outcome
}

/// Connects and checks everything that the services depend on, then starts them.
async fn start(resolved: Resolved, failures: &mpsc::UnboundedSender<Error>) -> Result<(Running, Pools)> {
    let Resolved { listen, database_url, standby_url, pool_sizes, service } = resolved;
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let standby_url = standby_url.as_ref().map(|url| url.reveal().0.as_str());
    let pools = connect(&database_url.reveal().0, standby_url, pool_sizes).await?;
    let service = Service::new(service, pools.clone())?;
    service.check().await?;
    Ok((service.start(listener, failures), pools))
}
