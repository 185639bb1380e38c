//! Decodes accounts and writes them. A row that the database refuses stops no other row.

use std::{collections::HashSet, sync::atomic::Ordering::Relaxed, time::Duration};

use crtx_chain::{Execution, ProgramAccount};
use crtx_protocol::mirror_digest::data_hash;
use crtx_store::{
    StoreError,
    mirror::{self, Applied, Batch, ExecutionAccount, FinalHashes},
};
use solana_pubkey::Pubkey;

use super::{changes::AccountState, syncer::Syncer};
use crate::source::has_kind;

/// Rows that are written in one transaction at most, so that another writer of one of them waits only for a moment.
pub const ROWS_PER_TRANSACTION: usize = 500;
/// How long a status says that the database refused rows.
const REFUSAL_IS_SHOWN: Duration = Duration::from_secs(600);

/// An account as it was delivered or read. Its bytes are decoded and hashed once.
pub struct Item {
    pub address: Pubkey,
    pub state: AccountState,
    hash: [u8; 32],
    data: Vec<u8>,
    account: Result<ProgramAccount, String>,
}

impl Item {
    /// `exact`: the account changed in this slot. Otherwise it was read at it.
    pub fn new(address: Pubkey, slot: u64, data: Vec<u8>, exact: bool) -> Self {
        let account = ProgramAccount::decode(&data).map_err(|error| error.to_string());
        let revision = account.as_ref().map_or(0, ProgramAccount::revision);
        let hash = data_hash(&data);
        let state = AccountState { revision, data_hash: Some(hash), exact, ..AccountState::gone(slot) };
        Self { address, state, hash, data, account }
    }

    pub fn read(address: Pubkey, slot: u64, data: Vec<u8>) -> Self {
        Self::new(address, slot, data, false)
    }

    pub fn is_config(&self) -> bool {
        matches!(self.account, Ok(ProgramAccount::Config(_)))
    }

    /// Adds it to a batch: as a row, or to the quarantine if its bytes cannot be decoded.
    fn push(&self, batch: &mut Batch) -> Result<(), StoreError> {
        let Self { address, state: AccountState { slot, .. }, hash, account, .. } = self;
        let pushed = match account {
            Ok(ProgramAccount::Config(account)) => batch.push_read(address, *slot, account.as_ref(), hash),
            Ok(ProgramAccount::CreatorProfile(account)) => batch.push_read(address, *slot, account.as_ref(), hash),
            Ok(ProgramAccount::AgentListed(account)) => batch.push_read(address, *slot, account.as_ref(), hash),
            Ok(ProgramAccount::Execution(account)) => {
                let Execution { record, terms } = **account;
                batch.push_read(address, *slot, &ExecutionAccount { record, terms }, hash)
            }
            Ok(ProgramAccount::Dispute(account)) => batch.push_read(address, *slot, account.as_ref(), hash),
            Ok(ProgramAccount::SpendingGrant(account)) => batch.push_read(address, *slot, account.as_ref(), hash),
            Err(error) => return self.quarantine(batch, error),
        };
        pushed.or_else(|error| self.quarantine(batch, &error.to_string()))
    }

    fn quarantine(&self, batch: &mut Batch, error: &str) -> Result<(), StoreError> {
        let Self { address, state: AccountState { slot, .. }, .. } = self;
        tracing::error!(%address, slot, error, "an account of the program cannot be decoded");
        batch.quarantine(address, *slot, self.data.clone(), error)
    }
}

/// Adds an account to a batch. One that is not the program's ([`has_kind`]) is skipped.
pub fn push(batch: &mut Batch, address: &Pubkey, slot: u64, data: Vec<u8>) -> Result<(), StoreError> {
    if has_kind(&data) { Item::read(*address, slot, data).push(batch) } else { Ok(()) }
}

/// The batch of these accounts.
pub fn batch_of(items: &[Item]) -> Result<Batch, StoreError> {
    let mut batch = Batch::default();
    items.iter().try_for_each(|item| item.push(&mut batch))?;
    Ok(batch)
}

impl Syncer {
    /// Writes what the stream delivered, together with the slot that it proves; 0 proves none.
    pub(super) async fn apply_changes(&self, items: &[Item], slot: u64) -> Result<(), StoreError> {
        let mut chunks = items.chunks(ROWS_PER_TRANSACTION).peekable();
        while let Some(chunk) = chunks.next() {
            // What proves the slot is delivered with the last row.
            let slot = if chunks.peek().is_none() { slot } else { 0 };
            match mirror::apply_changes(&self.pool, &batch_of(chunk)?, slot).await {
                Err(error) if error.refuses_a_row() => {
                    self.apply_one_by_one(chunk, &error).await?;
                    mirror::apply_changes(&self.pool, &Batch::default(), slot).await?;
                }
                applied => drop(applied?),
            }
        }
        Ok(())
    }

    /// Writes what differs of a part of a snapshot, and remembers it until it is final.
    pub(super) async fn apply_page(&self, items: &[Item]) -> Result<(), StoreError> {
        for chunk in items.chunks(ROWS_PER_TRANSACTION) {
            let filled = self.known().filled;
            let addresses: Vec<Pubkey> = chunk.iter().filter(|_| filled).map(|item| item.address).collect();
            let finals = mirror::final_hashes(&self.pool, &addresses).await?;
            let applied = match mirror::apply_differing(&self.pool, batch_of(chunk)?).await {
                Err(error) if error.refuses_a_row() => {
                    self.apply_one_by_one(chunk, &error).await?;
                    Applied { written: chunk.iter().map(|item| item.address).collect(), ..Applied::default() }
                }
                applied => applied?,
            };
            self.note_page(chunk, &applied, &finals);
        }
        Ok(())
    }

    /// Remembers what was written until it is final. Another process may have written a row whose change the stream
    /// swallowed, so what is not final is remembered even if its row is equal.
    fn note_page(&self, chunk: &[Item], applied: &Applied, finals: &FinalHashes) {
        let changed: HashSet<&Pubkey> = applied.written.iter().chain(&applied.ahead).collect();
        let mut known = self.known();
        let proved = known.proved.newest();
        if known.asked {
            let since = proved.unwrap_or_default();
            applied.written.iter().for_each(|address| known.delivered.expect(*address, since));
        }
        for Item { address, state, .. } in chunk {
            let is_final = finals.get(address).copied().flatten() == state.data_hash;
            if changed.contains(address) {
                known.changes.note(*address, state.known_until(proved));
            } else if known.filled && !is_final && !known.changes.is_pending(address) {
                known.changes.note(*address, *state);
            }
        }
        known.changes.recheck(applied.ahead.iter().copied());
    }

    /// Writes each row alone. One that the database refuses goes to the quarantine.
    async fn apply_one_by_one(&self, items: &[Item], error: &StoreError) -> Result<(), StoreError> {
        tracing::error!(cause = %error, accounts = items.len(), "the database refuses a row of a batch");
        for item in items {
            match mirror::apply_changes(&self.pool, &batch_of(std::slice::from_ref(item))?, 0).await {
                Err(error) if error.refuses_a_row() => self.refuse(item, &error).await?,
                applied => drop(applied?),
            }
        }
        Ok(())
    }

    async fn refuse(&self, item: &Item, error: &StoreError) -> Result<(), StoreError> {
        let message = format!("the database refuses the row of account {}: {error}", item.address);
        let mut batch = Batch::default();
        batch.quarantine(&item.address, item.state.slot, item.data.clone(), &message)?;
        mirror::apply_changes(&self.pool, &batch, 0).await?;
        self.figures.rows_refused.fetch_add(1, Relaxed);
        self.problems.set_for("rows_refused", message, REFUSAL_IS_SHOWN);
        Ok(())
    }
}
