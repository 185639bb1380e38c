//! A disk whose syncs take longer than they do: a small library that is preloaded into `crtx up` and so into the
//! PostgreSQL that it starts. PostgreSQL's writes wait in `fdatasync` on Linux, which the library covers.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

const SOURCE: &str = include_str!("slow_disk.c");

/// The library, built in a folder that the database's user may read.
pub struct SlowDisk {
    library: PathBuf,
    delay: Duration,
    only: Option<&'static str>,
}

impl SlowDisk {
    /// Builds the library in `folder`, which has to outlive what is started with it.
    pub fn build(folder: &Path, delay: Duration) -> Result<Self> {
        let (source, library) = (folder.join("slow_disk.c"), folder.join("slow_disk.so"));
        std::fs::write(&source, SOURCE)?;
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()
            .context("no C compiler")?;
        ensure!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        Ok(Self { library, delay, only: None })
    }

    /// Only the files with this name are slow.
    #[must_use]
    pub const fn only(mut self, name: &'static str) -> Self {
        self.only = Some(name);
        self
    }

    /// What to start a process with.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("LD_PRELOAD", self.library.clone().into()),
            ("SLOW_DISK_MS", self.delay.as_millis().to_string().into()),
            ("SLOW_DISK_ONLY", self.only.unwrap_or_default().into()),
        ]
    }
}
