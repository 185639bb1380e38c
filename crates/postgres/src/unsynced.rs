//! A new cluster runs without syncing until it is set up, and is then synced as a whole. `initdb` writes a thousand files,
//! and syncing each of them takes seconds on a slow disk. It is not needed: as long as the machine runs, a killed process
//! loses nothing that it wrote.
//!
//! A note in the cluster's folder says that this has not happened yet. A start that finds it makes the cluster again:
//! nothing was served from it.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use anyhow::Context;

/// In `postgresql.auto.conf`, where `ALTER SYSTEM RESET` takes it out again.
pub const SETTING: &str = "fsync = 'off'\n";

/// The note in the cluster's folder.
pub const NOTE: &str = "unsynced";

/// Syncs everything that was written so far and removes the note. Blocking.
pub fn settle(folder: &Path) -> anyhow::Result<()> {
    let opened = File::open(folder).context("the cluster's folder")?;
    sync_everything(&opened).context("the cluster cannot be synced")?;
    fs::remove_file(folder.join(NOTE)).context("the cluster's note")?;
    // If the note came back after a power cut, the cluster would be made again.
    opened.sync_all().context("the cluster's folder")
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
