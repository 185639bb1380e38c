//! The time in which a new cluster is not on the disk yet. Making a cluster writes a thousand files; syncing each
//! of them takes seconds on a slow disk and is not needed: as long as the machine runs, no killed process loses
//! what was written. So a new cluster runs without syncing until it is set up, and is then synced as a whole.
//!
//! A note in the cluster's folder says that this has not happened yet, and in which run of the machine it began. A
//! cluster whose note names another run went through a power cut half written: it is made again.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// In `postgresql.auto.conf`, where `ALTER SYSTEM RESET` takes it out again.
pub const SETTING: &str = "fsync = 'off'\n";

/// The note that says that a cluster is not synced yet.
#[derive(Clone, Debug)]
pub struct Note(PathBuf);

impl Note {
    pub fn of(folder: &Path) -> Self {
        Self(folder.join("unsynced"))
    }

    pub fn exists(&self) -> bool {
        self.0.exists()
    }

    pub fn write(&self) -> io::Result<()> {
        fs::write(&self.0, machine_run())
    }

    /// Whether the machine has gone down since the note was written.
    pub fn is_of_another_run(&self) -> bool {
        let run = machine_run();
        fs::read_to_string(&self.0).is_ok_and(|noted| run.is_empty() || noted != run)
    }

    /// Syncs everything that was written so far and removes the note. Blocking.
    pub fn settle(&self) -> anyhow::Result<()> {
        let folder = File::open(self.0.parent().unwrap_or(&self.0)).context("the cluster's folder")?;
        sync_everything(&folder).context("the cluster cannot be synced")?;
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).context("the cluster's note"),
            _ => {}
        }
        // If the note came back after a power cut, the cluster would be made again.
        folder.sync_all().context("the cluster's folder")
    }
}

/// Changes with every start of the machine. Empty where the system does not say it; a cluster that was being set
/// up is then always made again.
fn machine_run() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync_everything(folder: &File) -> io::Result<()> {
    rustix::fs::syncfs(folder).map_err(io::Error::from)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn sync_everything(_folder: &File) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_as_long_as_the_machine_runs() {
        let dir = tempfile::tempdir().expect("dir");
        let note = Note::of(dir.path());
        assert!(!note.exists() && !note.is_of_another_run());
        note.write().expect("writes");
        assert!(note.exists() && !note.is_of_another_run());
        fs::write(dir.path().join("unsynced"), "00000000-0000-0000-0000-000000000000").expect("writes");
        assert!(note.is_of_another_run());
        note.settle().expect("syncs");
        assert!(!note.exists());
    }
}
