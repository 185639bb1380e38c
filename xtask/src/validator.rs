//! `cargo xtask validator`: Agave's `solana-test-validator`, for tests and benchmarks on a real network, and the geyser
//! plug-in of `yellowstone-grpc` for it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The newest line that builds with this workspace's compiler.
const VERSION: &str = "4.2.2";
const PROGRAM: &str = "solana-test-validator";
/// Names a program that is used in place of one that is built here, packed with `xz` or not.
pub const VARIABLE: &str = "CRTX_TEST_VALIDATOR";
/// The plug-in is in no registry. This version was made for the validator's line. Both have to be built by one compiler.
const PLUGIN_SOURCE: &str = "https://github.com/rpcpool/yellowstone-grpc";
const PLUGIN_TAG: &str = "v15.1.2+solana.4.2.0";
const PLUGIN: &str = "libyellowstone_grpc_geyser.so";
/// Names a plug-in that is used in place of one that is built here.
pub const PLUGIN_VARIABLE: &str = "CRTX_TEST_YELLOWSTONE";
/// As `crtx up` reads it.
pub const UP_VARIABLE: &str = "CRTX_VALIDATOR";

/// The program. Without `path` and [`VARIABLE`] it is built, which takes about half an hour the first time, in a folder
/// of the user that outlives this workspace.
pub fn installed(path: Option<PathBuf>) -> Result<PathBuf> {
    match path.map_or_else(found, |path| ready(&path).map(Some))? {
        Some(program) => Ok(program),
        None => built(),
    }
}

/// The program that [`VARIABLE`] names, or that was built before.
pub fn found() -> Result<Option<PathBuf>> {
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let built = cache()?.join("bin").join(PROGRAM);
    named.or_else(|| built.exists().then_some(built)).map(|program| ready(&program)).transpose()
}

fn cache() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    Ok(cache.context("neither XDG_CACHE_HOME nor HOME is set")?.join(format!("crtx/agave-{VERSION}")))
}

fn built() -> Result<PathBuf> {
    let folder = cache()?;
    eprintln!("=== building {PROGRAM} {VERSION}; it needs clang, cmake, protoc, and the headers of OpenSSL and udev");
    let mut install = cargo();
    install.args(["install", "agave-validator", "--locked", "--version", VERSION, "--bin", PROGRAM]);
    install.args(["--features", "agave-unstable-api", "--root"]).arg(&folder);
    install.arg("--target-dir").arg(folder.join("build"));
    workspace::run(&mut install)?;
    std::fs::remove_dir_all(folder.join("build")).context("the build folder cannot be removed")?;
    ready(&folder.join("bin").join(PROGRAM))
}

/// The plug-in. It is built from its repository, once, if [`PLUGIN_VARIABLE`] names none.
pub fn plugin() -> Result<PathBuf> {
    let folder = cache()?.join("yellowstone");
    let plugin = folder.join(PLUGIN);
    if let Some(named) = std::env::var_os(PLUGIN_VARIABLE).filter(|name| !name.is_empty()) {
        return Ok(std::path::absolute(named)?);
    }
    if plugin.exists() {
        return Ok(plugin);
    }
    eprintln!("=== building {PLUGIN} {PLUGIN_TAG}");
    let source = folder.join("source");
    if !source.exists() {
        let clone = ["clone", "--depth", "1", "--branch", PLUGIN_TAG, PLUGIN_SOURCE];
        workspace::run(Command::new("git").args(clone).arg(&source))
            .with_context(|| format!("without its sources, {PLUGIN_VARIABLE} has to name a plug-in"))?;
    }
    let mut build = cargo();
    build.args(["build", "--locked", "--release", "--package", "yellowstone-grpc-geyser", "--lib"]);
    build.arg("--manifest-path").arg(source.join("Cargo.toml")).arg("--target-dir").arg(folder.join("build"));
    workspace::run(&mut build)?;
    std::fs::rename(folder.join("build/release").join(PLUGIN), &plugin)?;
    for done in ["build", "source"] {
        std::fs::remove_dir_all(folder.join(done)).with_context(|| format!("the folder {done} cannot be removed"))?;
    }
    Ok(plugin)
}

/// The lints and the profile of this workspace are none of other people's programs.
fn cargo() -> Command {
    let mut cargo = workspace::cargo();
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER").env("CARGO_PROFILE_RELEASE_LTO", "off");
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    cargo
}

/// The program itself, of a file that may be packed.
fn ready(file: &Path) -> Result<PathBuf> {
    let is_packed = file.extension().is_some_and(|ending| ending == "xz");
    let program = if is_packed { unpacked(file)? } else { std::path::absolute(file)? };
    let version = workspace::output(Command::new(&program).arg("--version"))?;
    ensure!(version.starts_with(PROGRAM), "{} is no {PROGRAM}: {version}", program.display());
    Ok(program)
}

fn unpacked(packed: &Path) -> Result<PathBuf> {
    let folder = workspace::target().join("validator");
    let program = folder.join(PROGRAM);
    let time = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified());
    let packed_at = time(packed).with_context(|| format!("cannot read {}", packed.display()))?;
    if time(&program).is_ok_and(|unpacked_at| unpacked_at >= packed_at) {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder)?;
    // Another run may start the program, or unpack it, at the same time.
    let temporary = folder.join(format!("{}.new", std::process::id()));
    let target = std::fs::File::create(&temporary).with_context(|| format!("cannot write {}", temporary.display()))?;
    workspace::run(Command::new("xz").arg("-dc").arg(packed).stdout(target))?;
    std::fs::set_permissions(&temporary, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    std::fs::rename(&temporary, &program)?;
    Ok(program)
}
