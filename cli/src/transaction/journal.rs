//! Signed transactions that were sent, or may have been, and whose outcome is not known yet. Each is on the disk before
//! it is sent, so a command that was interrupted can tell later what became of it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::SignedTransaction;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::private_file;

/// The entries of one wallet on one chain.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it does.
    pub title: String,
    pub transaction: SignedTransaction,
}

#[derive(Serialize, Deserialize)]
struct EntryFile {
    title: String,
    signature: String,
    transaction: String,
    last_valid_block_height: u64,
}

impl Journal {
    /// `genesis_hash` identifies the chain: an entry means nothing on another one.
    pub fn of(config_folder: &Path, genesis_hash: &str, wallet: &Pubkey) -> Self {
        let chain = private_file::path_part(genesis_hash);
        Self { folder: config_folder.join("transactions").join(chain).join(wallet.to_string()) }
    }

    /// On the disk when this returns.
    pub fn write(&self, entry: &Entry) -> anyhow::Result<()> {
        let file = EntryFile {
            title: entry.title.clone(),
            signature: entry.transaction.signature.to_string(),
            transaction: BASE64.encode(&entry.transaction.bytes),
            last_valid_block_height: entry.transaction.last_valid_block_height,
        };
        let path = self.path(&entry.transaction.signature);
        let bytes = serde_json::to_vec(&file)?;
        private_file::write(&path, &bytes)
            .with_context(|| format!("nothing was sent: {} cannot be written", path.display()))
    }

    pub fn remove(&self, signature: &Signature) -> anyhow::Result<()> {
        let path = self.path(signature);
        private_file::remove(&path).with_context(|| format!("cannot remove {}", path.display()))
    }

    fn path(&self, signature: &Signature) -> PathBuf {
        self.folder.join(format!("{signature}.json"))
    }

    /// Everything that is not resolved, in no order.
    pub fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let files = private_file::json_files(&self.folder)
            .with_context(|| format!("cannot read {}; what was sent before is not known", self.folder.display()))?;
        files.iter().filter_map(|path| read(path).transpose()).collect()
    }
}

/// `None` if another process has removed it.
fn read(path: &Path) -> anyhow::Result<Option<Entry>> {
    let place = || format!("{} is damaged; it names a transaction whose outcome was not known", path.display());
    let bytes = private_file::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let file: EntryFile = serde_json::from_slice(&bytes).with_context(place)?;
    let transaction = SignedTransaction {
        signature: file.signature.parse().with_context(place)?,
        bytes: BASE64.decode(&file.transaction).with_context(place)?,
        last_valid_block_height: file.last_valid_block_height,
    };
    Ok(Some(Entry { title: file.title, transaction }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entry(byte: u8) -> Entry {
        let signature = Signature::from([byte; 64]);
        let transaction = SignedTransaction { signature, bytes: vec![byte; 9], last_valid_block_height: 7 };
        Entry { title: "Pause".to_owned(), transaction }
    }

    #[test]
    fn entries_stay_until_they_are_removed_and_belong_to_one_wallet_on_one_chain() {
        let folder = tempfile::tempdir().expect("folder");
        let wallet = Pubkey::new_from_array([1; 32]);
        let journal = Journal::of(folder.path(), "chain", &wallet);
        assert_eq!(journal.entries().expect("reads"), []);
        journal.write(&entry(1)).expect("writes");
        journal.write(&entry(2)).expect("writes");
        assert_eq!(journal.entries().expect("reads").len(), 2);
        let other_chain = Journal::of(folder.path(), "other", &wallet);
        let other_wallet = Journal::of(folder.path(), "chain", &Pubkey::new_from_array([2; 32]));
        assert!(other_chain.entries().expect("reads").is_empty() && other_wallet.entries().expect("reads").is_empty());
        journal.remove(&entry(1).transaction.signature).expect("removes");
        journal.remove(&entry(1).transaction.signature).expect("twice is no error");
        assert_eq!(journal.entries().expect("reads"), [entry(2)]);
    }

    #[test]
    fn a_damaged_entry_is_an_error_because_its_outcome_is_not_known() {
        let folder = tempfile::tempdir().expect("folder");
        let journal = Journal::of(folder.path(), "../chain", &Pubkey::new_from_array([1; 32]));
        journal.write(&entry(1)).expect("writes");
        assert!(journal.folder.starts_with(folder.path().join("transactions/chain")), "{journal:?}");
        fs::write(journal.path(&entry(1).transaction.signature), "{").expect("writes");
        assert!(journal.entries().expect_err("damaged").to_string().contains("damaged"));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_an_error_and_not_an_empty_one() {
        let folder = tempfile::tempdir().expect("folder");
        let journal = Journal::of(folder.path(), "chain", &Pubkey::new_from_array([1; 32]));
        fs::create_dir_all(journal.folder.parent().expect("folder")).expect("made");
        fs::write(&journal.folder, "a file in the place of the folder").expect("written");
        assert!(journal.entries().expect_err("unknown").to_string().contains("not known"));
    }
}
