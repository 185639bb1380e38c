//! Rows that are written together, and the kinds of accounts that they are of.

use std::collections::{HashMap, HashSet};

use agent_marketplace::state;
use crtx_protocol::mirror_digest::data_hash;
use solana_pubkey::Pubkey;

use super::{
    agents::AgentRow,
    config::ConfigRow,
    creators::CreatorRow,
    disputes::DisputeRow,
    executions::{ExecutionAccount, ExecutionRow},
    grants::GrantRow,
    quarantine::QuarantineRow,
    row::{Bytes, MirrorRow, Mirrored},
    table::{Hashes, Rows},
};
use crate::{
    convert::{amount_to_db, pubkey},
    error::StoreError,
};

/// Rows to be written together. Of each account only the newest state is kept.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(super) configs: Rows<ConfigRow>,
    pub(super) creators: Rows<CreatorRow>,
    pub(super) agents: Rows<AgentRow>,
    pub(super) executions: Rows<ExecutionRow>,
    pub(super) disputes: Rows<DisputeRow>,
    pub(super) grants: Rows<GrantRow>,
    pub(super) quarantine: HashMap<String, QuarantineRow>,
    /// Of the accounts that can be decoded.
    pub(super) hashes: Hashes,
}

/// Runs an expression for the rows of each kind of account in a batch.
macro_rules! for_each_kind {
    ($batch:expr, $rows:ident => $run:expr) => {
        for_each_kind!(@ $batch, $rows => $run, configs creators agents executions disputes grants)
    };
    (mut $batch:expr, $rows:ident => $run:expr) => {
        for_each_kind!(@ mut $batch, $rows => $run, configs creators agents executions disputes grants)
    };
    (@ $batch:expr, $rows:ident => $run:expr, $($field:ident)+) => {
        $({
            let $rows = &$batch.$field;
            $run;
        })+
    };
    (@ mut $batch:expr, $rows:ident => $run:expr, $($field:ident)+) => {
        $({
            let $rows = &mut $batch.$field;
            $run;
        })+
    };
}

/// Runs an expression for the row type of each mirror table.
macro_rules! for_each_table {
    ($Row:ident => $run:expr) => {
        for_each_table!(
            @ $Row => $run,
            config::ConfigRow creators::CreatorRow agents::AgentRow executions::ExecutionRow disputes::DisputeRow
                grants::GrantRow
        )
    };
    (@ $Row:ident => $run:expr, $($module:ident::$type:ident)+) => {
        $({
            type $Row = $crate::mirror::$module::$type;
            $run;
        })+
    };
}

pub(super) use {for_each_kind, for_each_table};

/// An account type that a [`Batch`] can take.
pub trait Batched: Mirrored {
    #[doc(hidden)]
    fn rows(batch: &mut Batch) -> &mut Rows<Self::Row>;
}

macro_rules! batched {
    ($($account:ty => $field:ident),+ $(,)?) => {
        $(impl Batched for $account {
            fn rows(batch: &mut Batch) -> &mut Rows<Self::Row> {
                &mut batch.$field
            }
        })+
    };
}

batched! {
    state::Config => configs,
    state::CreatorProfile => creators,
    state::AgentListed => agents,
    ExecutionAccount => executions,
    state::Dispute => disputes,
    state::SpendingGrant => grants,
}

/// True if the row is the newest one now.
fn keep_newest<R: MirrorRow>(rows: &mut Rows<R>, mut row: R) -> bool {
    match rows.get_mut(row.address()) {
        Some(kept) if kept.version() >= row.version() => {
            kept.keep_dropped(&row);
            false
        }
        Some(kept) => {
            row.keep_dropped(kept);
            *kept = row;
            true
        }
        None => rows.insert(row.address().to_owned(), row).is_none(),
    }
}

impl Batch {
    /// Adds an account as read at `slot`, with its bytes. Fails for bytes that the program never writes; the account
    /// then belongs into [`Batch::quarantine`].
    pub fn push_read<A: Batched>(
        &mut self,
        address: &Pubkey,
        slot: u64,
        account: &A,
        data: &[u8],
    ) -> Result<(), StoreError> {
        let row = account.to_row(address, slot)?;
        if keep_newest(A::rows(self), row) {
            self.hashes.insert(address.to_string(), data_hash(data));
        }
        Ok(())
    }

    /// For tests: adds an account, whose bytes follow from its fields.
    #[cfg(feature = "testing")]
    pub fn push<A: Batched + crate::testing::encode::Encode>(
        &mut self,
        address: &Pubkey,
        slot: u64,
        account: &A,
    ) -> Result<(), StoreError> {
        self.push_read(address, slot, account, &account.encode())
    }

    /// Adds an account whose bytes cannot be decoded.
    pub fn quarantine(
        &mut self,
        address: &Pubkey,
        slot: u64,
        data: Vec<u8>,
        error: impl ToString,
    ) -> Result<(), StoreError> {
        let slot = amount_to_db("slot", slot)?;
        let row = QuarantineRow { address: address.to_string(), slot, data: Bytes(data), error: error.to_string() };
        self.quarantine.insert(row.address.clone(), row);
        Ok(())
    }

    /// Accounts in the batch, with those in the quarantine.
    pub fn len(&self) -> usize {
        let mut accounts = self.quarantine.len();
        for_each_kind!(self, rows => accounts = accounts.saturating_add(rows.len()));
        accounts
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Accounts in the batch that cannot be decoded.
    pub fn quarantined(&self) -> usize {
        self.quarantine.len()
    }

    /// Address and reason of each account that cannot be decoded.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &str)> {
        self.quarantine.values().map(|row| (row.address.as_str(), row.error.as_str()))
    }

    /// The accounts with these addresses.
    #[must_use]
    pub fn only(mut self, addresses: &[String]) -> Self {
        self.retain(&addresses.iter().cloned().collect());
        self.quarantine.clear();
        self
    }

    /// Addresses of the listings in the batch.
    pub fn agent_addresses(&self) -> Result<Vec<Pubkey>, StoreError> {
        self.agents.keys().map(|address| pubkey("agent address", address)).collect()
    }

    /// Addresses of the executions that its accounts are about.
    pub(super) fn records(&self) -> Vec<String> {
        self.executions.keys().chain(self.disputes.values().map(|dispute| &dispute.execution)).cloned().collect()
    }

    /// Addresses of the accounts that can be decoded.
    pub fn readable(&self) -> Vec<String> {
        let mut addresses = Vec::new();
        for_each_kind!(self, rows => addresses.extend(rows.keys().cloned()));
        addresses
    }

    /// Slot of the newest account that can be decoded, and of every address.
    pub(super) fn readable_slots(&self) -> (Vec<String>, Vec<i64>) {
        let (mut addresses, mut slots) = (Vec::new(), Vec::new());
        for_each_kind!(self, rows => {
            addresses.extend(rows.keys().cloned());
            slots.extend(rows.values().map(|row| row.version().1));
        });
        (addresses, slots)
    }

    /// Keeps only the rows of these addresses. The quarantine stays as it is.
    pub(super) fn retain(&mut self, kept: &HashSet<String>) {
        for_each_kind!(mut self, rows => rows.retain(|address, _| kept.contains(address)));
    }

    /// Addresses of all accounts in the batch.
    pub(super) fn addresses(&self) -> Vec<String> {
        let mut all = self.readable();
        all.extend(self.quarantine.keys().cloned());
        all
    }

    /// Address and revision of every account that can be decoded.
    pub(super) fn revisions(&self) -> (Vec<String>, Vec<i64>) {
        let (mut addresses, mut revisions) = (Vec::new(), Vec::new());
        for_each_kind!(self, rows => {
            addresses.extend(rows.keys().cloned());
            revisions.extend(rows.values().map(|row| row.version().0));
        });
        (addresses, revisions)
    }
}
