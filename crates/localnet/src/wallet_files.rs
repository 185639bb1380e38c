//! Key pairs of the local network's roles as files, in the format of the Solana command line: the roles' commands read
//! them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use solana_keypair::Keypair;

use crate::keys::{Keys, write_keypair};

/// Where the key pairs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletFiles {
    /// Wallet of the demo API key.
    pub demo: PathBuf,
    pub creator: PathBuf,
    pub admin: PathBuf,
    pub resolver: PathBuf,
    pub guardian: PathBuf,
}

impl WalletFiles {
    /// Writes the files, readable by their owner alone.
    pub fn write(folder: &Path, keys: &Keys) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let write = |name: &str, keypair: &Keypair| -> anyhow::Result<PathBuf> {
            let path = folder.join(format!("{name}.json"));
            write_keypair(&path, keypair)?;
            Ok(path)
        };
        Ok(Self {
            demo: write("demo", &keys.demo.wallet)?,
            creator: write("creator", &keys.creator)?,
            admin: write("admin", &keys.admin)?,
            resolver: write("resolver", &keys.resolver)?,
            guardian: write("guardian", &keys.guardian)?,
        })
    }
}
