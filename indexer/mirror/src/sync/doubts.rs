//! What two nodes may show differently, and what they do.

use std::collections::BTreeSet;

use solana_pubkey::Pubkey;

/// Accounts that are looked at one by one. If more differ, a few say as much.
const MAX_DOUBTS: usize = 10_000;

/// Accounts that two nodes may show differently.
#[derive(Debug, Default)]
pub struct Doubts {
    /// To be compared again.
    pub open: BTreeSet<Pubkey>,
    /// Those that differed at the last comparison.
    pub proved: BTreeSet<Pubkey>,
    /// Why the second node cannot be compared.
    pub unusable: Option<String>,
}

impl Doubts {
    pub fn add(&mut self, addresses: impl IntoIterator<Item = Pubkey>) {
        for address in addresses {
            if self.open.len().saturating_add(self.proved.len()) < MAX_DOUBTS {
                self.open.insert(address);
            }
        }
    }

    /// Whether two nodes show this account differently.
    pub fn has(&self, address: &Pubkey) -> bool {
        self.proved.contains(address)
    }

    pub fn unusable(&self) -> Option<String> {
        self.unusable.clone()
    }
}
