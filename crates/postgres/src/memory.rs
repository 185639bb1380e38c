//! The size of the server's buffers: a part of the machine's memory.

use std::fs;

const MIB: u64 = 1 << 20;
/// PostgreSQL's manual suggests a quarter of a machine's memory.
const PART: u64 = 4;
const LEAST_MIB: u64 = 128;
/// A mirror of a million accounts has about so much.
const MOST_MIB: u64 = 4_096;
/// If the memory cannot be read.
const OTHERWISE_MIB: u64 = 512;

/// `shared_buffers` in MiB. Memory is taken as it is used.
pub fn shared_buffers_mib() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| limit_of(&text));
    part_of(machine, container)
}

fn part_of(machine: Option<u64>, container: Option<u64>) -> u64 {
    match machine.into_iter().chain(container).min() {
        Some(bytes) => (bytes / MIB / PART).clamp(LEAST_MIB, MOST_MIB),
        None => OTHERWISE_MIB,
    }
}

/// The bytes that Linux says the machine has.
fn total_of(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// The bytes that a container may use; `None` if it has no limit.
fn limit_of(memory_max: &str) -> Option<u64> {
    memory_max.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn buffers_are_a_quarter_of_the_memory_within_bounds() {
        assert_eq!(part_of(Some(8 * GIB), None), 2_048);
        assert_eq!(part_of(Some(64 * GIB), None), 4_096);
        assert_eq!(part_of(Some(GIB / 4), None), 128);
        assert_eq!(part_of(None, None), 512);
    }

    #[test]
    fn the_limit_of_a_container_counts() {
        assert_eq!(part_of(Some(64 * GIB), Some(2 * GIB)), 512);
        assert_eq!(part_of(None, Some(2 * GIB)), 512);
        assert_eq!(limit_of("2147483648\n"), Some(2 * GIB));
        assert_eq!(limit_of("max\n"), None);
    }

    #[test]
    fn the_memory_of_a_machine_is_read_as_linux_writes_it() {
        assert_eq!(total_of("MemTotal:       24684084 kB\nMemFree:        23782920 kB\n"), Some(24_684_084 * 1_024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert_eq!(total_of("MemTotal: many\n"), None);
    }
}
