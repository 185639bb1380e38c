//! `agent.lock.toml`: which listing on which network belongs to the folder of an agent. It is written before the
//! listing is sent, so that an interrupted `crtx agent publish` continues with the same listing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::private_file;

pub const FILE_NAME: &str = "agent.lock.toml";
const HEADER: &str = "# Written by `crtx agent publish`: the listing of this folder on each network.\n\n";

/// The listings of a folder, by the name of the network.
pub type Lock = BTreeMap<String, LockedListing>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedListing {
    pub agent_id: String,
    pub creator: String,
    pub index: u32,
    /// Whether the listing was confirmed. Without it, another folder may have taken the index.
    pub confirmed: bool,
}

/// Reads the file; an empty lock if there is none.
pub fn read(folder: &Path) -> anyhow::Result<Lock> {
    let path = path(folder);
    let text = private_file::if_there(fs::read_to_string(&path));
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text.unwrap_or_default()).with_context(|| format!("{} is damaged", path.display()))
}

/// Notes the listing of a network, and writes the file as a whole.
pub fn note(lock: &mut Lock, folder: &Path, network: &str, listed: LockedListing) -> anyhow::Result<()> {
    lock.insert(network.to_owned(), listed);
    let path = path(folder);
    let text = format!("{HEADER}{}", toml::to_string(lock)?);
    private_file::write(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn path(folder: &Path) -> PathBuf {
    folder.join(FILE_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(creator: &str, index: u32) -> LockedListing {
        LockedListing { agent_id: format!("agent{index}"), creator: creator.to_owned(), index, confirmed: true }
    }

    #[test]
    fn each_network_keeps_its_listing() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lock = read(folder.path()).expect("none yet");
        note(&mut lock, folder.path(), "local", listed("creator", 1)).expect("written");
        note(&mut lock, folder.path(), "devnet", listed("creator", 2)).expect("written");
        let lock = read(folder.path()).expect("written before");
        assert_eq!(lock.get("local"), Some(&listed("creator", 1)));
        assert_eq!(lock.get("devnet"), Some(&listed("creator", 2)));
        assert_eq!(lock.get("mainnet"), None);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_new_listing() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(FILE_NAME), "local = 1").expect("written");
        assert!(read(folder.path()).expect_err("damaged").to_string().contains("is damaged"));
    }
}
