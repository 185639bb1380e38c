//! The addresses of a snapshot, in 16 bytes each.

use solana_pubkey::Pubkey;

/// Accounts of one snapshot at most.
pub const MAX_ACCOUNTS: usize = 20_000_000;

/// Half of each address: nobody can make two addresses that begin with the same 128 bits.
#[derive(Debug, Default)]
pub struct Seen {
    keys: Vec<u128>,
    sorted: bool,
}

fn key(address: &Pubkey) -> u128 {
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(address.as_array()) {
        *to = *from;
    }
    u128::from_be_bytes(half)
}

impl Seen {
    /// False if there are too many.
    pub fn add(&mut self, address: &Pubkey) -> bool {
        self.sorted = false;
        self.keys.push(key(address));
        self.keys.len() <= MAX_ACCOUNTS
    }

    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Has to come before [`Seen::has`].
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.keys.sort_unstable();
        self.sorted = true;
        self
    }

    pub fn has(&self, address: &Pubkey) -> bool {
        debug_assert!(self.sorted, "sorted before it is asked");
        self.keys.binary_search(&key(address)).is_ok()
    }
}
