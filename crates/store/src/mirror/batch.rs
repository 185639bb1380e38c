//! Rows that are written together.

use std::collections::{BTreeMap, HashMap, HashSet};

use solana_pubkey::Pubkey;

use super::{
    kinds::{AGENTS, DISPUTES, EXECUTIONS},
    quarantine::QuarantineRow,
    row::{AccountRow, MirrorTable, Mirrored},
};
use crate::{Result, convert::amount_to_db};

/// Rows to be written together. Of each account only the newest state is kept.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// In the order of the addresses: so concurrent writers lock rows in the same order.
    pub(super) rows: BTreeMap<String, AccountRow>,
    pub(super) quarantine: HashMap<String, QuarantineRow>,
}

impl Batch {
    /// Adds an account as read at `slot`, with the hash of its bytes. Fails for bytes that the program never writes; the
    /// account then belongs into [`Batch::quarantine`].
    pub fn push_read<A: Mirrored>(&mut self, address: &Pubkey, slot: u64, account: &A, hash: &[u8; 32]) -> Result<()> {
        let row = AccountRow::read(address, slot, account, hash)?;
        if self.rows.get(&row.address).is_none_or(|kept| row.version() > kept.version()) {
            self.rows.insert(row.address.clone(), row);
        }
        Ok(())
    }

    /// Adds an account whose bytes cannot be decoded.
    pub fn quarantine(&mut self, address: &Pubkey, slot: u64, data: Vec<u8>, error: impl ToString) -> Result<()> {
        let slot = amount_to_db("slot", slot)?;
        let row = QuarantineRow { address: address.to_string(), slot, data, error: error.to_string() };
        self.quarantine.insert(row.address.clone(), row);
        Ok(())
    }

    /// It has no account, not even for the quarantine.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.quarantine.is_empty()
    }

    /// Address and reason of each account that cannot be decoded.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &str)> {
        self.quarantine.values().map(|row| (row.address.as_str(), row.error.as_str()))
    }

    /// The accounts with these addresses.
    #[must_use]
    pub fn only(mut self, addresses: &[String]) -> Self {
        let kept: HashSet<&String> = addresses.iter().collect();
        self.rows.retain(|address, _| kept.contains(address));
        self.quarantine.clear();
        self
    }

    /// Its only account with this key: the row of an earlier use of its address.
    pub(super) fn with_key(mut self, key: &str) -> Self {
        if let Some((_, mut row)) = self.rows.pop_first() {
            row.address = key.to_owned();
            row.columns.insert("address".to_owned(), key.into());
            self.rows.insert(row.address.clone(), row);
        }
        self
    }

    /// Addresses of the accounts that can be decoded.
    pub fn readable(&self) -> Vec<String> {
        self.rows.keys().cloned().collect()
    }

    /// Addresses of the listings in the batch.
    pub fn agent_addresses(&self) -> Vec<Pubkey> {
        self.of(&AGENTS).filter_map(|row| row.address.parse().ok()).collect()
    }

    /// The rows of one table.
    pub(super) fn of(&self, table: &MirrorTable) -> impl Iterator<Item = &AccountRow> {
        self.rows.values().filter(move |row| row.table.name == table.name)
    }

    /// Addresses of the executions that its accounts are about.
    pub(super) fn records(&self) -> Vec<String> {
        let executions = self.of(&EXECUTIONS).map(|row| row.address.as_str());
        executions.chain(self.of(&DISPUTES).map(|row| row.text("execution"))).map(str::to_owned).collect()
    }
}
