//! Where a cluster lives and whose it is. PostgreSQL refuses to run as root, so root hands the folder
//! to an unprivileged user; and a folder that this user cannot reach is replaced by one that it can.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use nix::unistd::{User, geteuid};
use sha2::{Digest, Sha256};
use tokio::process::Command;
use url::form_urlencoded::byte_serialize;

/// Longest path of a Unix socket on Linux; macOS has a few bytes less.
const MAX_SOCKET_PATH: usize = 103;
const SOCKET_NAME: &str = ".s.PGSQL.5432";
/// Role and database. Nobody else can open the socket, so there is no password.
pub const NAME: &str = "crtx";

/// The cluster's folder: `data`, `socket`, `server.log`, and downloaded programs.
#[derive(Clone, Debug)]
pub struct ClusterFolder {
    pub folder: PathBuf,
    pub socket: PathBuf,
    /// Whom the folder is handed to; `None` where the current user runs the server.
    owner: Option<(u32, u32)>,
}

impl ClusterFolder {
    /// Prepares the folders for the cluster of `data_dir`.
    pub fn below(data_dir: &Path) -> anyhow::Result<Self> {
        let owner = server_user()?;
        let folder = match owner {
            Some((uid, gid)) if !reachable(data_dir, uid, gid) => outside_folder(data_dir)?,
            _ => data_dir.join("postgres"),
        };
        let mut socket = folder.join("socket");
        if socket.join(SOCKET_NAME).as_os_str().len() > MAX_SOCKET_PATH {
            socket = short_socket(data_dir)?;
        }
        for path in [&folder, &socket] {
            private_folder(path, owner)?;
        }
        if !folder.starts_with(data_dir) {
            // Shows a reader of this folder where the database is.
            fs::create_dir_all(data_dir.join("postgres"))?;
            fs::write(data_dir.join("postgres/elsewhere"), format!("{}\n", folder.display()))?;
        }
        Ok(Self { folder, socket, owner })
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub fn unfinished_data(&self) -> PathBuf {
        self.folder.join("data.unfinished")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// `postgres://` URL of a database behind the socket, as sqlx and libpq read it.
    pub fn url(&self, database: &str) -> String {
        let host: String = byte_serialize(self.socket.as_os_str().as_encoded_bytes()).collect();
        format!("postgres://{NAME}@localhost/{database}?host={host}")
    }

    /// Lets a command run as the folder's owner.
    pub fn run_as_owner<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some((uid, gid)) = self.owner {
            command.uid(uid).gid(gid);
        }
        // The current directory may be one that the owner must not enter.
        command.current_dir("/")
    }

    pub fn end_of_log(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(8)..).unwrap_or_default().join("\n")
    }
}

/// Removes the cluster of `data_dir`, wherever it lies.
pub fn remove(data_dir: &Path) -> anyhow::Result<()> {
    for folder in [outside_folder(data_dir)?, short_socket(data_dir)?, data_dir.join("postgres")] {
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    Ok(())
}

/// `postgres` if the system has that user, else `nobody`; for root only.
fn server_user() -> anyhow::Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if let Some(user) = User::from_name(name)? {
            return Ok(Some((user.uid.as_raw(), user.gid.as_raw())));
        }
    }
    bail!("PostgreSQL refuses to run as root, and this system has neither a user `postgres` nor `nobody`")
}

/// Whether a user may enter every folder of the path.
fn reachable(path: &Path, uid: u32, gid: u32) -> bool {
    path.ancestors().skip_while(|folder| !folder.exists()).all(|folder| {
        fs::metadata(folder).is_ok_and(|meta| {
            let bit = if meta.uid() == uid {
                0o100
            } else if meta.gid() == gid {
                0o010
            } else {
                0o001
            };
            meta.permissions().mode() & bit != 0
        })
    })
}

fn outside_folder(data_dir: &Path) -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(format!("/var/tmp/crtx-{}", short_hash(data_dir)?)))
}

fn short_socket(data_dir: &Path) -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(format!("/tmp/crtx-pg-{}", short_hash(data_dir)?)))
}

fn short_hash(data_dir: &Path) -> anyhow::Result<String> {
    let absolute = std::path::absolute(data_dir)?;
    let digest = Sha256::digest(absolute.as_os_str().as_encoded_bytes());
    Ok(hex::encode(digest).chars().take(16).collect())
}

/// Makes a folder that only the owner may enter. One that is already there has to be the owner's.
fn private_folder(path: &Path, owner: Option<(u32, u32)>) -> anyhow::Result<()> {
    let mine = geteuid().as_raw();
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_dir() || (meta.uid() != mine && owner.is_none_or(|(uid, _)| uid != meta.uid())) => {
            bail!("{} is in the way: it is not a folder of this user", path.display())
        }
        Ok(_) => {}
        Err(_) => fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?,
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    if let Some((uid, gid)) = owner {
        chown(path, Some(uid), Some(gid)).with_context(|| format!("cannot hand over {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_data_directory_gets_a_short_socket_path() {
        let dir = tempfile::tempdir().expect("dir");
        let deep = dir.path().join("x".repeat(90));
        let cluster_folder = ClusterFolder::below(&deep).expect("a folder");
        assert!(cluster_folder.socket.join(SOCKET_NAME).as_os_str().len() <= MAX_SOCKET_PATH, "{cluster_folder:?}");
        remove(&deep).expect("remove");
        assert!(!cluster_folder.socket.exists());
    }

    #[test]
    fn a_folder_that_others_may_not_enter_is_out_of_reach() {
        let dir = tempfile::tempdir().expect("dir");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).expect("chmod");
        let (uid, gid) = (geteuid().as_raw(), nix::unistd::getegid().as_raw());
        assert!(reachable(&dir.path().join("later"), uid, gid));
        assert!(!reachable(&dir.path().join("later"), uid.wrapping_add(1), gid.wrapping_add(1)));
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("postgres");
        fs::write(&path, "").expect("file");
        assert!(private_folder(&path, None).is_err());
    }
}
