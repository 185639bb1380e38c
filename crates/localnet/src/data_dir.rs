//! The data directory: whose it is, who uses it now, and what `--fresh` may delete.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// Present in every directory that crtx made; one without it is never touched.
const MARKER: &str = "crtx-data";
const MARKER_TEXT: &str = "Made by `crtx up`. `crtx up --fresh` deletes what lies here.\n";

pub const KEYS: &str = "keys.json";
/// Of the embedded network.
pub const CHAIN: &str = "chain";
/// Of Agave's validator.
pub const VALIDATOR: &str = "validator";
pub const CONTENT: &str = "content";
/// Key pairs of the roles, as commands read them.
pub const WALLETS: &str = "wallets";
/// Configuration with which a `crtx-server` joins this marketplace.
pub const SERVER_CONFIG: &str = "crtx-server.toml";
/// Key pair of the program's gateway authority, as `crtx-server` reads it.
pub const GATEWAY_KEYPAIR: &str = "gateway-authority.json";
const PORTS: &str = "ports.json";
/// What crtx writes and `--fresh` deletes, in addition to the database.
const OURS: [&str; 8] = [KEYS, PORTS, CHAIN, VALIDATOR, CONTENT, WALLETS, SERVER_CONFIG, GATEWAY_KEYPAIR];

/// An open data directory. The lock is held until this is dropped.
pub struct DataDir {
    pub path: PathBuf,
    _lock: File,
}

/// Ports of the last run, so that addresses stay the same where possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastPorts {
    pub rpc: Option<u16>,
    pub ws: Option<u16>,
    pub creator: Option<u16>,
}

impl DataDir {
    /// Opens or makes the directory. Fails if something else lies there, or if another process uses it.
    pub fn open(path: &Path, fresh: bool) -> anyhow::Result<Self> {
        // Keys and content of the marketplace are nobody else's.
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.with_context(|| format!("cannot make the data directory {}", path.display()))?;
        let path = fs::canonicalize(path)?;
        let marker = path.join(MARKER);
        if !marker.exists() {
            if fs::read_dir(&path)?.next().is_some() {
                bail!(
                    "{} is not empty and not a data directory of crtx; choose another with --data-dir",
                    path.display()
                );
            }
            fs::write(&marker, MARKER_TEXT)?;
        }
        let lock = File::options().read(true).write(true).open(&marker)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another `crtx up` uses {}; stop it, or choose another --data-dir", path.display())
            }
            Err(TryLockError::Error(error)) => return Err(error).context("the data directory cannot be locked"),
        }
        let data_dir = Self { path, _lock: lock };
        if fresh {
            data_dir.clear()?;
        }
        Ok(data_dir)
    }

    fn clear(&self) -> anyhow::Result<()> {
        crtx_postgres::remove(&self.path)?;
        for name in OURS {
            let path = self.path.join(name);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The folder of the network, `name`. Fails if the directory has the other network: its chain is another one.
    pub fn network(&self, name: &str) -> anyhow::Result<PathBuf> {
        let other = if name == VALIDATOR { CHAIN } else { VALIDATOR };
        if self.path.join(other).exists() {
            let made = if other == VALIDATOR { "with" } else { "without" };
            bail!("{} was made {made} --validator; --fresh starts over", self.path.display());
        }
        Ok(self.path.join(name))
    }

    /// The ports of the last run; none where there was none.
    pub fn ports(&self) -> LastPorts {
        fs::read(self.path.join(PORTS)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub fn save_ports(&self, ports: &LastPorts) -> anyhow::Result<()> {
        let (path, temporary) = (self.path.join(PORTS), self.path.join("ports.new"));
        // Not synced: without them the next run takes other ports.
        fs::write(&temporary, serde_json::to_vec(ports)?)
            .and_then(|()| fs::rename(&temporary, &path))
            .context("the ports cannot be noted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_used_by_one_process_at_a_time() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("data");
        let first = DataDir::open(&path, false).expect("opens");
        let error = DataDir::open(&path, false).err().expect("refused");
        assert!(error.to_string().contains("another `crtx up`"), "{error}");
        drop(first);
        DataDir::open(&path, false).expect("opens again");
    }

    #[test]
    fn a_directory_with_other_things_in_it_is_left_alone() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join("thesis.txt"), "words").expect("file");
        for fresh in [false, true] {
            let error = DataDir::open(dir.path(), fresh).err().expect("refused");
            assert!(error.to_string().contains("--data-dir"), "{error}");
        }
        assert!(dir.path().join("thesis.txt").exists());
        assert_eq!(fs::read_dir(dir.path()).expect("dir").count(), 1);
    }

    #[test]
    fn fresh_deletes_what_crtx_made_and_nothing_else() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("data");
        let data_dir = DataDir::open(&path, false).expect("opens");
        fs::write(path.join(KEYS), "{}").expect("file");
        fs::create_dir_all(path.join(CHAIN)).expect("dir");
        data_dir.save_ports(&LastPorts { rpc: Some(1), ..LastPorts::default() }).expect("saves");
        fs::write(path.join("notes.txt"), "mine").expect("file");
        drop(data_dir);
        let data_dir = DataDir::open(&path, true).expect("opens");
        assert!(!path.join(KEYS).exists() && !path.join(CHAIN).exists());
        assert_eq!(data_dir.ports(), LastPorts::default());
        assert!(path.join("notes.txt").exists());
    }

    #[test]
    fn ports_are_remembered() {
        let dir = tempfile::tempdir().expect("dir");
        let data_dir = DataDir::open(&dir.path().join("data"), false).expect("opens");
        let ports = LastPorts { rpc: Some(1), ws: None, creator: Some(3) };
        data_dir.save_ports(&ports).expect("saves");
        assert_eq!(data_dir.ports(), ports);
    }
}
