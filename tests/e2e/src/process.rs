//! What processes used, from Linux's `/proc`: processor time by process and thread, peak memory.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use anyhow::{Context, Result};

/// Linux reports processor time in hundredths of a second, on every machine.
const TICK: Duration = Duration::from_millis(10);

/// One line of `/proc/…/stat`.
struct Stat {
    name: String,
    parent: u32,
    /// Processor time of the process or thread itself.
    own: Duration,
    /// That of its children that have ended and been waited for.
    children: Duration,
}

impl Stat {
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path.join("stat")).ok()?;
        // The name stands in parentheses and may itself hold spaces and parentheses.
        let (before, after) = text.rsplit_once(") ")?;
        let name = before.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = after.split(' ').collect();
        let ticks = |from: usize| -> Option<Duration> {
            let (user, system): (u32, u32) = (fields.get(from)?.parse().ok()?, fields.get(from + 1)?.parse().ok()?);
            Some(TICK * user.checked_add(system)?)
        };
        Some(Self { name, parent: fields.get(1)?.parse().ok()?, own: ticks(11)?, children: ticks(13)? })
    }
}

fn folder(pid: u32) -> std::path::PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// The process that has started a process.
pub fn parent(pid: u32) -> Option<u32> {
    Stat::read(&folder(pid)).map(|stat| stat.parent)
}

/// Processor time that a process has used so far, its ended threads included.
pub fn cpu(pid: u32) -> Duration {
    Stat::read(&folder(pid)).map_or(Duration::ZERO, |stat| stat.own)
}

/// Processor time of those of its living threads whose name `wanted` picks.
pub fn cpu_of_threads(pid: u32, wanted: impl Fn(&str) -> bool) -> Duration {
    let Ok(threads) = fs::read_dir(folder(pid).join("task")) else { return Duration::ZERO };
    let stats = threads.flatten().filter_map(|thread| Stat::read(&thread.path()));
    stats.filter(|stat| wanted(&stat.name)).map(|stat| stat.own).sum()
}

/// Processor time of the PostgreSQL server that `pid` has started, with all its sessions.
pub fn cpu_of_postgres_below(pid: u32) -> Duration {
    let mut family = BTreeSet::from([pid]);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: BTreeSet<u32> =
        processes.filter_map(|process| process.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    let mut total = Duration::ZERO;
    loop {
        let size = family.len();
        for &process in pids.difference(&family.clone()) {
            let Some(stat) = Stat::read(&folder(process)) else { continue };
            if family.contains(&stat.parent) {
                family.insert(process);
                if stat.name.starts_with("postgres") {
                    total += stat.own + stat.children;
                }
            }
        }
        if family.len() == size {
            return total;
        }
    }
}

/// Processor time that the machine has spent on anything, on all processors together.
pub fn cpu_of_the_machine() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<u32> = fields.map_while(|field| field.parse().ok()).collect();
    // user, nice, system, idle, waiting for the disk, interrupts, soft interrupts; then time that guests got.
    [0, 1, 2, 5, 6].into_iter().filter_map(|index| ticks.get(index)).map(|&ticks| TICK * ticks).sum()
}

/// Peak of the memory that a process has held, in MiB.
pub fn peak_memory_mib(pid: u32) -> Result<f64> {
    memory(pid, "VmHWM:")
}

/// The memory that a process holds now, in MiB.
pub fn memory_mib(pid: u32) -> Result<f64> {
    memory(pid, "VmRSS:")
}

fn memory(pid: u32, name: &'static str) -> Result<f64> {
    let status = fs::read_to_string(folder(pid).join("status")).context("this benchmark needs Linux's /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context(name)?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse().context(name)?;
    Ok(kib / 1_024.0)
}

/// Lets the peak start again at what the process holds now.
pub fn forget_peak(pid: u32) -> Result<()> {
    fs::write(folder(pid).join("clear_refs"), "5").context("the peak of the memory cannot be started again")
}
