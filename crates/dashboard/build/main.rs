//! Chooses the files of the dashboard and embeds them. The committed build in `app/dist` is taken if it was made from
//! the sources of this checkout. Otherwise, where npm is installed, they are built; else the committed build is taken,
//! with a warning.

mod embed;
mod sources;

use std::{
    env, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let app = root.join("../../app");
    for path in sources::PATHS.iter().chain(&["dist"]) {
        println!("cargo::rerun-if-changed={}", app.join(path).display());
    }
    let committed = app.join("dist");
    let folder = if sources::are_those_of(&app, &committed) { committed } else { built(&app, &out, committed) };
    embed::write(&folder, &out.join("files.rs"))
}

/// The folder of a new build, or the committed one.
fn built(app: &Path, out: &Path, committed: PathBuf) -> PathBuf {
    let folder = out.join("dist");
    let has_packages = app.join("node_modules").is_dir() || npm(app, &["ci", "--no-audit", "--no-fund"]);
    let build = ["run", "build", "--", "--emptyOutDir", "--outDir", &folder.to_string_lossy()];
    if has_packages && npm(app, &build) && folder.join("index.html").is_file() {
        return folder;
    }
    println!(
        "cargo::warning=app/dist is not the build of the sources in app/, and npm could not make it: run `npm ci` and \
         `npm run build` in app/. The dashboard of app/dist is used."
    );
    committed
}

/// Whether a command of npm succeeded. False without npm.
fn npm(app: &Path, arguments: &[&str]) -> bool {
    // Cargo reads the standard output of this program.
    let mut command = Command::new("npm");
    command.current_dir(app).args(["--silent"]).args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
