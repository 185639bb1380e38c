//! Which accounts a snapshot had, in eight bytes each: a million accounts take 8 MB.

use std::hash::{BuildHasher, RandomState};

use solana_pubkey::Pubkey;

/// A set of addresses. Each is kept as a keyed hash, whose key nobody outside knows: an address that is not in the set
/// is taken for one of a million others once in 10¹³ cases, and nobody can choose it.
pub struct Seen {
    key: RandomState,
    hashes: Vec<u64>,
}

impl Seen {
    pub fn collect() -> Collecting {
        Collecting(Self { key: RandomState::new(), hashes: Vec::new() })
    }

    pub fn contains(&self, address: &Pubkey) -> bool {
        self.hashes.binary_search(&self.key.hash_one(address)).is_ok()
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }
}

/// A set that is not complete yet.
pub struct Collecting(Seen);

impl Collecting {
    pub fn add(&mut self, address: &Pubkey) {
        let hash = self.0.key.hash_one(address);
        self.0.hashes.push(hash);
    }

    pub fn done(mut self) -> Seen {
        self.0.hashes.sort_unstable();
        self.0
    }
}
