//! Runs a service as a process: the runtime, the signals, and an end that nothing delays.
//!
//! The first Ctrl-C or SIGTERM asks for a stop, the second ends the process at once. Both are watched on a
//! thread of their own, so that they work while every thread of the runtime is busy or blocked.

use std::{future::Future, io, process::ExitCode, thread, time::Duration};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// Exit status after a second signal, as shells count them.
const FORCED: i32 = 130;
/// Exit status when a stop took longer than allowed.
const OVERDUE: i32 = 1;
/// How long blocking work may delay the exit of a process that is otherwise done.
const BLOCKED_LIMIT: Duration = Duration::from_secs(1);
/// Open files that a service requests, as far as the system permits.
const OPEN_FILES: u64 = 65_536;

/// Is cancelled by the first signal.
pub type StopSignal = CancellationToken;

/// Runs a service to its end on a runtime of its own. `patience`: from the first
/// signal to the end of the process, whatever is still going on then.
pub fn run<F>(patience: Duration, service: impl FnOnce(StopSignal) -> F) -> ExitCode
where
    F: Future<Output = ExitCode>,
{
    raise_open_files();
    let set_up = || -> io::Result<(Runtime, StopSignal)> {
        let stop = watch_signals(patience)?;
        Ok((Builder::new_multi_thread().enable_all().build()?, stop))
    };
    match set_up() {
        Ok((runtime, stop)) => {
            let code = runtime.block_on(service(stop));
            runtime.shutdown_timeout(BLOCKED_LIMIT);
            code
        }
        Err(error) => {
            eprintln!("the process cannot be set up: {error}");
            ExitCode::FAILURE
        }
    }
}

/// From here on the signals no longer end the process by themselves.
fn watch_signals(patience: Duration) -> io::Result<StopSignal> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    drop(guard);
    let stop = StopSignal::new();
    let stopped = stop.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            let mut next = async || {
                tokio::select! {
                    _ = interrupt.recv() => "SIGINT",
                    _ = terminate.recv() => "SIGTERM",
                }
            };
            let name = next().await;
            eprintln!("{name}: stopping");
            stopped.cancel();
            match tokio::time::timeout(patience, next()).await {
                Ok(name) => {
                    eprintln!("{name} again: not waiting any longer");
                    std::process::exit(FORCED);
                }
                Err(_) => {
                    eprintln!("the stop takes longer than {} s: not waiting any longer", patience.as_secs());
                    std::process::exit(OVERDUE);
                }
            }
        });
    })?;
    Ok(stop)
}

/// Each connection is an open file, and many systems allow 1 024 until a process asks for more.
fn raise_open_files() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let wanted = OPEN_FILES.min(hard);
    if soft < wanted {
        // Refused: the server lowers its limit of connections instead.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
    }
}
