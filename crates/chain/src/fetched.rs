//! Accounts and the slot at which a node read them.

use solana_pubkey::Pubkey;

/// An account as the chain holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedAccount {
    pub owner: Pubkey,
    pub lamports: u64,
    pub data: Vec<u8>,
}

/// A value and the slot at which the node read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtSlot<T> {
    pub slot: u64,
    pub value: T,
}
