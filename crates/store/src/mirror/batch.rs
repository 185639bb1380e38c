//! Rows that are written together, and the kinds of accounts that they are of.

use std::collections::HashMap;

use agent_marketplace::state;
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
    table::Rows,
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
}

/// Runs an expression for the rows of each kind of account in a batch.
macro_rules! for_each_kind {
    ($batch:expr, $rows:ident => $run:expr) => {
        for_each_kind!(@ $batch, $rows => $run, configs creators agents executions disputes grants)
    };
    (@ $batch:expr, $rows:ident => $run:expr, $($field:ident)+) => {
        $({
            let $rows = &$batch.$field;
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

fn keep_newest<R: MirrorRow>(rows: &mut Rows<R>, mut row: R) {
    match rows.get_mut(row.address()) {
        Some(kept) if kept.version() >= row.version() => kept.keep_dropped(&row),
        Some(kept) => {
            row.keep_dropped(kept);
            *kept = row;
        }
        None => drop(rows.insert(row.address().to_owned(), row)),
    }
}

impl Batch {
    /// Adds an account as read at `slot`. Fails for bytes that the program never writes; the account then belongs into
    /// [`Batch::quarantine`].
    pub fn push<A: Batched>(&mut self, address: &Pubkey, slot: u64, account: &A) -> Result<(), StoreError> {
        let row = account.to_row(address, slot)?;
        keep_newest(A::rows(self), row);
        Ok(())
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

    /// Addresses of the listings in the batch.
    pub fn agent_addresses(&self) -> Result<Vec<Pubkey>, StoreError> {
        self.agents.keys().map(|address| pubkey("agent address", address)).collect()
    }

    /// Addresses of the accounts that can be decoded.
    pub(super) fn readable(&self) -> Vec<String> {
        let mut addresses = Vec::new();
        for_each_kind!(self, rows => addresses.extend(rows.keys().cloned()));
        addresses
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
