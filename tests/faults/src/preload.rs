//! Faults of the machine under one process: its wall clock is stepped, its content folder breaks. They come
//! from a small library (`preload/faults.c`) that is loaded into the process and steered through a file.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

const SOURCE: &str = include_str!("../preload/faults.c");

/// What is wrong with the content folder, as the process sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FolderFault {
    None = 0,
    /// Writing fails as on a full disk; reading works.
    NoSpace = 1,
    /// Reading and writing fail: permission denied.
    Forbidden = 2,
    /// Nothing returns, as on a network folder whose server is gone.
    NoAnswer = 3,
}

/// The compiled library.
#[derive(Clone, Debug)]
pub struct Library {
    path: PathBuf,
}

impl Library {
    /// Compiles the library into `folder`, with the C compiler that linking Rust programs needs as well.
    pub fn compile(folder: &Path) -> Result<Self> {
        let (source, path) = (folder.join("faults.c"), folder.join("libcrtx_faults.so"));
        std::fs::write(&source, SOURCE)?;
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .args([&path, &source])
            .arg("-ldl")
            .output()
            .context("no C compiler `cc` for the preloaded library")?;
        if !output.status.success() {
            bail!("the preloaded library does not compile: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Self { path })
    }
}

/// The faults of one process.
#[derive(Debug)]
pub struct MachineFaults {
    library: Library,
    control: PathBuf,
    folder: PathBuf,
    file: File,
}

impl MachineFaults {
    const CLOCK_AT: u64 = 0;
    const FOLDER_AT: u64 = 8;
    const LEN: u64 = 16;

    /// Faults steered through the file `control`; `folder` is the content folder. Nothing is wrong at first.
    pub fn new(library: Library, control: PathBuf, folder: PathBuf) -> Result<Self> {
        let file = File::options().create(true).truncate(true).write(true).open(&control)?;
        file.set_len(Self::LEN)?;
        Ok(Self { library, control, folder, file })
    }

    /// Lets a command be loaded with the library.
    pub fn environment(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("LD_PRELOAD", self.library.path.clone()),
            ("CRTX_FAULTS_CONTROL", self.control.clone()),
            ("CRTX_FAULTS_FOLDER", self.folder.clone()),
        ]
    }

    /// Shifts the process's wall clock against the machine's. Monotonic clocks are not touched.
    pub fn shift_clock(&self, seconds: i64) -> Result<()> {
        let nanos = seconds.saturating_mul(1_000_000_000);
        Ok(self.file.write_all_at(&nanos.to_ne_bytes(), Self::CLOCK_AT)?)
    }

    pub fn break_folder(&self, fault: FolderFault) -> Result<()> {
        Ok(self.file.write_all_at(&(fault as i32).to_ne_bytes(), Self::FOLDER_AT)?)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn faults(folder: &Path) -> MachineFaults {
        let library = Library::compile(folder).expect("compiles");
        MachineFaults::new(library, folder.join("control"), folder.join("content")).expect("control file")
    }

    fn run(faults: &MachineFaults, program: &str, arguments: &[&str]) -> std::process::Output {
        Command::new(program).args(arguments).envs(faults.environment()).output().expect("runs")
    }

    #[test]
    fn the_wall_clock_of_the_process_is_stepped_and_no_other() {
        let folder = tempfile::tempdir().expect("folder");
        let faults = faults(folder.path());
        faults.shift_clock(-3_600).expect("steps");
        let seconds = |output: std::process::Output| -> i64 {
            String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds")
        };
        let shifted = seconds(run(&faults, "date", &["+%s"]));
        let real = chrono::Utc::now().timestamp();
        assert!((real - shifted - 3_600).abs() <= 5, "{real} {shifted}");
        faults.shift_clock(0).expect("steps back");
        assert!((chrono::Utc::now().timestamp() - seconds(run(&faults, "date", &["+%s"]))).abs() <= 5);
    }

    #[test]
    fn a_full_a_forbidden_and_a_silent_folder_fail_as_such() {
        let folder = tempfile::tempdir().expect("folder");
        let faults = faults(folder.path());
        let content = folder.path().join("content");
        std::fs::create_dir(&content).expect("folder");
        std::fs::write(content.join("a"), "there").expect("file");
        let (read, write) = (content.join("a"), content.join("b"));
        let cat = || run(&faults, "cat", &[read.to_str().expect("UTF-8")]);
        let copy = || run(&faults, "sh", &["-c", &format!("echo there > {}", write.display())]);
        faults.break_folder(FolderFault::NoSpace).expect("breaks");
        assert!(cat().status.success() && !copy().status.success());
        faults.break_folder(FolderFault::Forbidden).expect("breaks");
        assert!(!cat().status.success() && !copy().status.success());
        faults.break_folder(FolderFault::NoAnswer).expect("breaks");
        let mut waiting =
            Command::new("cat").arg(&read).envs(faults.environment()).stdout(Stdio::null()).spawn().expect("runs");
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(waiting.try_wait().expect("status").is_none(), "it waits");
        faults.break_folder(FolderFault::None).expect("heals");
        assert!(waiting.wait().expect("status").success());
        assert!(copy().status.success());
    }
}
