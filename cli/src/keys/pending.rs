//! API keys that are being made. The secret is stored on the owner's machine before the first transaction, so that an
//! interrupted `crtx key create` continues with the same key, and no granted key is lost.

use std::path::{Path, PathBuf};

use anyhow::Context;
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_pubkey::Pubkey;

use crate::private_file;

/// A key that is being made.
#[derive(Clone, Debug)]
pub struct PendingKey {
    pub key: ApiKey,
    path: PathBuf,
}

impl PendingKey {
    /// Continues with the key of that wallet and name, or makes a new one. `folder`: where the pending keys of one
    /// network are.
    pub fn load_or_create(folder: &Path, wallet: &Pubkey, name: &str, network: KeyNetwork) -> anyhow::Result<Self> {
        let path = folder.join(file_name(wallet, name));
        let found = private_file::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if let Some(bytes) = found {
            let key = Self::read(&bytes).with_context(|| format!("{} holds no pending key", path.display()))?;
            return Ok(Self { key, path });
        }
        let key = ApiKey::generate(network).context("the system has no randomness")?;
        let file = json!({"wallet": wallet.to_string(), "name": name, "api_key": key.reveal()});
        private_file::write_new(&path, &serde_json::to_vec_pretty(&file)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { key, path })
    }

    /// Whether an earlier run was interrupted.
    pub fn exists(folder: &Path, wallet: &Pubkey, name: &str) -> bool {
        folder.join(file_name(wallet, name)).exists()
    }

    fn read(bytes: &[u8]) -> anyhow::Result<ApiKey> {
        let file: Value = serde_json::from_slice(bytes)?;
        Ok(file.get("api_key").and_then(Value::as_str).context("it has no api_key")?.parse()?)
    }

    pub fn session_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.key.session_public_key())
    }

    /// Forgets the key, once its owner has it.
    pub fn forget(self) -> anyhow::Result<()> {
        private_file::remove(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

/// A name can have characters that a file name cannot have.
fn file_name(wallet: &Pubkey, name: &str) -> String {
    let digest = Sha256::digest([wallet.as_ref(), name.as_bytes()].concat());
    format!("{}.json", hex::encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALLET: Pubkey = Pubkey::new_from_array([1; 32]);

    #[test]
    fn an_interrupted_creation_continues_with_the_same_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = |name: &str| PendingKey::load_or_create(folder.path(), &WALLET, name, KeyNetwork::Test);
        let first = load("ci/cd ✓").expect("made");
        assert_eq!(load("ci/cd ✓").expect("continued").key, first.key);
        assert_ne!(load("other").expect("made").key, first.key);
        assert!(!private_file::is_open_to_others(&first.path).expect("written"));
        let key = first.key.clone();
        first.forget().expect("removed");
        assert_ne!(load("ci/cd ✓").expect("made").key, key);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_new_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = || PendingKey::load_or_create(folder.path(), &WALLET, "name", KeyNetwork::Test);
        let pending = load().expect("made");
        std::fs::write(&pending.path, "{").expect("written");
        assert!(load().expect_err("damaged").to_string().contains("holds no pending key"));
    }
}
