//! `local.json`: where the last `crtx up` of this machine is. Commands for the network `local` find everything there,
//! so nothing has to be exported.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::private_file;

pub const FILE_NAME: &str = "local.json";

/// What `crtx up` writes when it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalRun {
    /// Null without services.
    pub base_url: Option<String>,
    pub rpc_url: String,
    pub ws_url: String,
    pub program_id: String,
    pub usdc_mint: String,
    pub data_dir: PathBuf,
    /// Key of the demo wallet.
    pub api_key: String,
    pub keypairs: Keypairs,
}

/// Files with the key pairs of the local network's roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keypairs {
    /// Wallet of the API key.
    pub demo: PathBuf,
    pub creator: PathBuf,
    pub admin: PathBuf,
    pub resolver: PathBuf,
}

impl LocalRun {
    /// `None` if no `crtx up` ran here. A file of another version is as good as none.
    pub fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(FILE_NAME);
        let bytes = private_file::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE_NAME);
        let bytes = serde_json::to_vec_pretty(self)?;
        private_file::write(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))
    }
}
