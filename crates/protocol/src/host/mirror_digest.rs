//! The digest of a set of accounts: one number for all of them, that changes with each change of one account.
//!
//! It is the lattice hash that Solana uses for its own accounts, over the addresses and bytes of the program's accounts.
//! Sets are equal if and only if their digests are, whatever the order in which accounts were added and removed.

use solana_lattice_hash::lt_hash::LtHash;
use solana_pubkey::Pubkey;
use std::fmt;

/// Bytes of a stored digest: 1 024 numbers of 16 bits.
pub const LATTICE_BYTES: usize = 2048;

/// The bytes are not those of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a mirror digest has {LATTICE_BYTES} bytes, not {0}")]
pub struct NotADigest(pub usize);

/// What the digest takes of an account's bytes. Its row keeps these 32 bytes, so that it can be removed later.
pub fn data_hash(data: &[u8]) -> [u8; 32] {
    *blake3::hash(data).as_bytes()
}

/// The digest of a set of accounts.
#[derive(Clone, PartialEq, Eq)]
pub struct MirrorDigest(LtHash);

impl MirrorDigest {
    /// The digest of no accounts.
    pub const fn identity() -> Self {
        Self(LtHash::identity())
    }

    /// Adds an account. The caller adds each account once; [`data_hash`] makes the hash.
    pub fn add(&mut self, address: &Pubkey, data_hash: &[u8; 32]) {
        self.0.mix_in(&element(address, data_hash));
    }

    /// Removes an account that was added with the same hash.
    pub fn remove(&mut self, address: &Pubkey, data_hash: &[u8; 32]) {
        self.0.mix_out(&element(address, data_hash));
    }

    /// Adds all accounts of another set, which has none of this one's. So parts can be computed separately.
    pub fn merge(&mut self, other: &Self) {
        self.0.mix_in(&other.0);
    }

    /// The 32 bytes that people and indexers compare.
    pub fn checksum(&self) -> [u8; 32] {
        *blake3::hash(&self.to_bytes()).as_bytes()
    }

    /// The whole digest, as it is stored: 1 024 numbers of 16 bits, little-endian.
    pub fn to_bytes(&self) -> [u8; LATTICE_BYTES] {
        let mut bytes = [0; LATTICE_BYTES];
        for (place, number) in bytes.chunks_exact_mut(2).zip(self.0.0) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// A digest that was stored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotADigest> {
        if bytes.len() != LATTICE_BYTES {
            return Err(NotADigest(bytes.len()));
        }
        let mut digest = LtHash::identity();
        for (number, pair) in digest.0.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *number = u16::from_le_bytes(*pair);
        }
        Ok(Self(digest))
    }
}

impl fmt::Debug for MirrorDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MirrorDigest({})", hex::encode(self.checksum()))
    }
}

/// The element of one account. Both inputs have a fixed length, so no two accounts share an input.
fn element(address: &Pubkey, data_hash: &[u8; 32]) -> LtHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(address.as_ref()).update(data_hash);
    LtHash::with(&hasher)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(accounts: &[(u8, &[u8])]) -> MirrorDigest {
        let mut digest = MirrorDigest::identity();
        for (name, data) in accounts {
            digest.add(&Pubkey::from([*name; 32]), &data_hash(data));
        }
        digest
    }

    #[test]
    fn the_digest_of_known_accounts_never_changes() {
        // As in the tests of Solana's own crate.
        let identity = bs58::encode(MirrorDigest::identity().checksum()).into_string();
        assert_eq!(identity, "DoL6fvKuTpTQCyUh83NxQw2ewKzWYtq9gsTKp1eQiGC2");
        assert_eq!(
            hex::encode(digest(&[(1, b"one"), (2, b"two")]).checksum()),
            "e52bd7a238fe7d90f0fa4e8080acd29e2d9f4f5ec0192a8e82ea9fc349dc0c06"
        );
    }

    /// The checksum is the one of the chain's own construction.
    #[test]
    fn the_checksum_is_the_one_of_the_lattice_hash() {
        let digest = digest(&[(1, b"one"), (2, b"two")]);
        assert_eq!(digest.checksum(), digest.0.checksum().0);
    }

    #[test]
    fn one_changed_byte_or_address_or_a_missing_account_gives_another_checksum() {
        let all = digest(&[(1, b"one"), (2, b"two")]);
        for other in [
            digest(&[(1, b"one"), (2, b"twp")]),
            digest(&[(1, b"one"), (3, b"two")]),
            digest(&[(1, b"two"), (2, b"one")]),
            digest(&[(1, b"one")]),
            digest(&[(1, b"one"), (2, b"two"), (2, b"two")]),
        ] {
            assert_ne!(all.checksum(), other.checksum());
        }
    }

    #[test]
    fn bytes_of_another_length_are_no_digest() {
        assert_eq!(MirrorDigest::from_bytes(&[0; 2047]), Err(NotADigest(2047)));
        assert_eq!(MirrorDigest::from_bytes(&[]), Err(NotADigest(0)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn changes_in_any_order_end_in_the_digest_of_the_last_state(
            before in prop::collection::btree_map(any::<[u8; 32]>(), any::<Vec<u8>>(), 0..12),
            after in prop::collection::btree_map(any::<[u8; 32]>(), any::<Vec<u8>>(), 0..12),
            turn in any::<usize>(),
        ) {
            let mut steps: Vec<_> = before.iter().flat_map(|(a, d)| [(true, a, d), (false, a, d)]).collect();
            steps.extend(after.iter().map(|(a, d)| (true, a, d)));
            let by = turn.checked_rem(steps.len()).unwrap_or(0);
            steps.rotate_left(by);
            let mut moved = MirrorDigest::identity();
            for (add, address, data) in steps {
                let address = Pubkey::from(*address);
                if add { moved.add(&address, &data_hash(data)) } else { moved.remove(&address, &data_hash(data)) }
            }
            let mut direct = MirrorDigest::identity();
            for (address, data) in &after {
                direct.add(&Pubkey::from(*address), &data_hash(data));
            }
            prop_assert_eq!(moved.checksum(), direct.checksum());
            prop_assert_eq!(&moved, &MirrorDigest::from_bytes(&direct.to_bytes()).unwrap());
        }

        #[test]
        fn merged_parts_are_the_whole(split in 0usize..6) {
            let all: [(u8, &[u8]); 6] = [(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d"), (5, b"e"), (6, b"")];
            let (left, right) = all.split_at(split);
            let mut merged = digest(left);
            merged.merge(&digest(right));
            prop_assert_eq!(merged, digest(&all));
        }
    }
}
