//! Carries planned faults out on a running marketplace, and takes back what is not a death. Services that die
//! are started again by their supervisor.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    notes::{Happened, Notebook},
    plan::{Fault, Kind, Track},
    preload::{FolderFault, MachineFaults},
    process::Process,
    rpc_proxy::Mood,
    world::{START_LIMIT, World},
};

/// Longer than any lease: 30 s, and what it takes to notice that it is lost.
const PAST_THE_LEASE: Duration = Duration::from_secs(34);
/// Slower than an answer usually is, faster than any time limit.
const SLOW: Duration = Duration::from_millis(1_500);

/// Carries the faults of one track out, one after the other. `before` is done directly before each.
pub async fn track(
    world: &World,
    notebook: &Notebook,
    faults: &[Fault],
    before: impl AsyncFn(&Fault),
    progress: impl Fn(&Happened),
) -> Result<()> {
    for fault in faults {
        tokio::time::sleep(fault.gap).await;
        before(fault).await;
        let from = Instant::now();
        inject(world, fault).await.with_context(|| format!("fault {} ({})", fault.number, fault.kind.name()))?;
        let happened = Happened { fault: *fault, from, until: Instant::now() };
        notebook.happened(happened);
        progress(&happened);
    }
    Ok(())
}

async fn inject(world: &World, fault: &Fault) -> Result<()> {
    match fault.track() {
        Track::Foundation => foundation(world, fault).await,
        Track::Content => content(world, fault).await,
        Track::Gateway(_) => gateway(world, fault).await,
    }
}

/// What everything stands on. Ends when `crtx up` answers again.
async fn foundation(world: &World, fault: &Fault) -> Result<()> {
    match fault.kind {
        Kind::Everything => {
            world.up.kill();
            world.postgres.kill();
            for gateway in &world.gateways {
                gateway.process.kill();
            }
        }
        Kind::UpAlone => drop(world.up.kill()),
        Kind::Postgres => drop(world.postgres.kill()),
        Kind::PostgresBackend => kill_a_backend(world, fault),
        Kind::PostgresPaused => {
            world.postgres.signal_all(Signal::SIGSTOP);
            tokio::time::sleep(fault.hold).await;
            world.postgres.signal_all(Signal::SIGCONT);
        }
        _ => kill_during_start(world, fault).await?,
    }
    // Long enough to notice a death; shorter than the shortest gap.
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.answers(START_LIMIT).await
}

fn kill_a_backend(world: &World, fault: &Fault) {
    let backends = world.postgres.backends();
    if let Some(pid) = backends.get(fault.number % backends.len().max(1)) {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
}

/// Kills `crtx up`, and kills it again at some moment of its start.
async fn kill_during_start(world: &World, fault: &Fault) -> Result<()> {
    let before = world.up.start_number();
    world.up.kill();
    world.up.started_after(before, START_LIMIT).await?;
    // Its start takes about a second.
    tokio::time::sleep(fault.hold / 2).await;
    world.up.kill();
    Ok(())
}

/// One gateway, its RPC node or its clock.
async fn gateway(world: &World, fault: &Fault) -> Result<()> {
    let gateway = world.gateways.get(fault.target).context("there is no such gateway")?;
    let process = &gateway.process;
    match fault.kind {
        Kind::Gateway => drop(process.kill()),
        Kind::GatewayStopped => drop(process.signal(Signal::SIGTERM)),
        Kind::PausedPastLease => paused(process, PAST_THE_LEASE, Some(fault.hold / 2)).await,
        Kind::Paused => paused(process, fault.hold, None).await,
        Kind::ClockForward => stepped(&gateway.machine, fault.step_s, fault.hold).await?,
        Kind::ClockBack => stepped(&gateway.machine, -fault.step_s, fault.hold).await?,
        kind => {
            gateway.rpc.set(mood(kind));
            tokio::time::sleep(fault.hold).await;
            gateway.rpc.set(Mood::Healthy);
        }
    }
    Ok(())
}

const fn mood(kind: Kind) -> Mood {
    match kind {
        Kind::RpcHangs => Mood::Hangs,
        Kind::RpcFails => Mood::Fails,
        Kind::RpcTooMany => Mood::TooManyRequests,
        Kind::RpcLosesAnswers => Mood::LosesAnswers,
        _ => Mood::Slow(SLOW),
    }
}

/// Signals go to the process that was running at first, and not to a successor.
async fn paused(process: &Process, pause: Duration, then_killed_after: Option<Duration>) {
    let Some(pid) = process.pid().map(Pid::from_raw) else { return };
    let _ = kill(pid, Signal::SIGSTOP);
    tokio::time::sleep(pause).await;
    let _ = kill(pid, Signal::SIGCONT);
    if let Some(after) = then_killed_after {
        tokio::time::sleep(after).await;
        if process.pid() == Some(pid.as_raw()) {
            process.kill();
        }
    }
}

async fn stepped(machine: &MachineFaults, seconds: i64, hold: Duration) -> Result<()> {
    machine.shift_clock(seconds)?;
    tokio::time::sleep(hold).await;
    machine.shift_clock(0)
}

/// The content folder, for everybody or for one gateway.
async fn content(world: &World, fault: &Fault) -> Result<()> {
    let folder = world.content_dir();
    let fault_of_one = match fault.kind {
        Kind::ContentFull => FolderFault::NoSpace,
        Kind::ContentForbidden => FolderFault::Forbidden,
        Kind::ContentSilent => FolderFault::NoAnswer,
        kind => return without_folder(&folder, kind == Kind::ContentIsAFile, fault.hold).await,
    };
    // Any of the three, that of `crtx up` included.
    let which = StdRng::seed_from_u64(fault.number as u64).random_range(0..=world.gateways.len());
    let machine = world.gateways.get(which).map_or(&world.up_machine, |gateway| &gateway.machine);
    machine.break_folder(fault_of_one)?;
    tokio::time::sleep(fault.hold).await;
    machine.break_folder(FolderFault::None)
}

async fn without_folder(folder: &Path, leave_a_file: bool, hold: Duration) -> Result<()> {
    let away = folder.with_extension("away");
    fs::rename(folder, &away)?;
    if leave_a_file {
        // A gateway may have made the folder anew in between; then this fails, which is fine.
        let _ = fs::write(folder, "in the way");
    }
    tokio::time::sleep(hold).await;
    put_back(folder, &away)
}

/// Puts the folder back, together with what was written to its successor meanwhile.
fn put_back(folder: &Path, away: &Path) -> Result<()> {
    let aside: PathBuf = folder.with_extension("aside");
    if folder.is_file() {
        fs::remove_file(folder)?;
    }
    for _ in 0..100 {
        let moved = folder.is_dir() && fs::rename(folder, &aside).is_ok();
        let back = fs::rename(away, folder).is_ok();
        if moved {
            for entry in fs::read_dir(&aside)? {
                let entry = entry?;
                fs::rename(entry.path(), folder.join(entry.file_name()))?;
            }
            fs::remove_dir_all(&aside)?;
        }
        if back {
            return Ok(());
        }
    }
    anyhow::bail!("the content folder cannot be put back")
}
