//! `cargo xtask validator`: Agave's `solana-test-validator`, for tests and benchmarks on a real network.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The newest line that builds with this workspace's compiler.
const VERSION: &str = "4.2.2";
const PROGRAM: &str = "solana-test-validator";
/// Names a program that is used in place of one that is built here, packed with `xz` or not.
pub const VARIABLE: &str = "CRTX_TEST_VALIDATOR";
/// As `crtx up` reads it.
pub const UP_VARIABLE: &str = "CRTX_VALIDATOR";

/// The program. Without `path` and [`VARIABLE`] it is built, which takes about half an hour the first time, in a folder
/// of the user that outlives this workspace.
pub fn installed(path: Option<PathBuf>) -> Result<PathBuf> {
    let named = path.or_else(|| std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from));
    match named {
        Some(packed) if packed.extension().is_some_and(|ending| ending == "xz") => unpacked(&packed),
        Some(program) => checked(std::path::absolute(program)?),
        None => built(),
    }
}

fn built() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let folder = cache.context("neither XDG_CACHE_HOME nor HOME is set")?.join(format!("crtx/agave-{VERSION}"));
    let program = folder.join("bin").join(PROGRAM);
    if program.exists() {
        return checked(program);
    }
    eprintln!("=== building {PROGRAM} {VERSION}; it needs clang, cmake, protoc, and the headers of OpenSSL and udev");
    let mut install = workspace::cargo();
    install.args(["install", "agave-validator", "--locked", "--version", VERSION, "--bin", PROGRAM]);
    install.args(["--features", "agave-unstable-api", "--root"]).arg(&folder);
    install.arg("--target-dir").arg(folder.join("build"));
    // Of its own: the lints and the profile of this workspace are none of the validator's.
    install.env_remove("RUSTC_WORKSPACE_WRAPPER").env("CARGO_PROFILE_RELEASE_LTO", "off");
    install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    workspace::run(&mut install)?;
    std::fs::remove_dir_all(folder.join("build")).context("the build folder cannot be removed")?;
    checked(program)
}

fn unpacked(packed: &Path) -> Result<PathBuf> {
    let program = workspace::target().join("validator").join(PROGRAM);
    std::fs::create_dir_all(program.parent().context("a folder")?)?;
    let target = std::fs::File::create(&program).with_context(|| format!("cannot write {}", program.display()))?;
    workspace::run(std::process::Command::new("xz").arg("-dc").arg(packed).stdout(target))?;
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    checked(program)
}

fn checked(program: PathBuf) -> Result<PathBuf> {
    let version = workspace::output(std::process::Command::new(&program).arg("--version"))?;
    ensure!(version.starts_with(PROGRAM), "{} is no {PROGRAM}: {version}", program.display());
    Ok(program)
}
