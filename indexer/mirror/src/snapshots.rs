//! What every reader of a snapshot needs: its items to the end, and which accounts it had, in eight bytes each.

use std::hash::{BuildHasher, RandomState};

use solana_pubkey::Pubkey;

use crate::source::{Snapshot, SnapshotItem, SourceError};

/// The next page, or the end. A snapshot that stops without an end failed.
pub async fn next_item(node: &str, snapshot: &mut Snapshot) -> Result<SnapshotItem, SourceError> {
    let stopped = || Err(SourceError::incomplete(node, "it stopped without an end"));
    snapshot.recv().await.unwrap_or_else(stopped)
}

/// A set of addresses. Each is kept as a keyed hash, whose key nobody outside knows: an address that is not in the set
/// is taken for one of a million others once in 10¹³ cases, and nobody can choose it.
#[derive(Debug, Default)]
pub struct AddressSet {
    key: RandomState,
    hashes: Vec<u64>,
}

impl AddressSet {
    pub fn add(&mut self, address: &Pubkey) {
        self.hashes.push(self.key.hash_one(address));
    }

    /// Has to come between the last [`AddressSet::add`] and the first [`AddressSet::has`].
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.hashes.sort_unstable();
        self
    }

    pub fn has(&self, address: &Pubkey) -> bool {
        self.hashes.binary_search(&self.key.hash_one(address)).is_ok()
    }

    pub const fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub const fn len(&self) -> usize {
        self.hashes.len()
    }
}
