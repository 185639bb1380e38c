//! Reads of accounts that are doubted: each also asks for an account that must exist, and a second node, if there is one,
//! confirms what it found.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crtx_store::{StoreError, mirror};
use solana_pubkey::Pubkey;

use super::{
    syncer::{SyncError, Syncer},
    writer::ROWS_PER_TRANSACTION,
};
use crate::{
    closings::search::{self, Proof},
    source::{AccountSource, At, MAX_ACCOUNTS_PER_READ, Read, has_kind},
};

/// One place of a read is for an account that must exist.
pub const READ_AT_ONCE: usize = MAX_ACCOUNTS_PER_READ - 1;

/// What the chain has, and does not have, as far as the nodes agree. Accounts that they show differently are in neither.
#[derive(Debug, Default)]
pub struct Looked {
    pub slot: u64,
    pub there: HashMap<Pubkey, Vec<u8>>,
    pub gone: Vec<Pubkey>,
}

impl Syncer {
    /// The node that is asked first, and no other in its place if there are two.
    pub(super) fn first_node(&self) -> Arc<dyn AccountSource> {
        self.source.preferred().unwrap_or_else(|| Arc::clone(&self.source))
    }

    /// Two nodes may show these accounts differently.
    pub(super) fn doubt_accounts(&self, addresses: impl IntoIterator<Item = Pubkey>) {
        self.known().doubts.add(addresses);
        self.doubt_now.notify_one();
    }

    /// Reads at most [`READ_AT_ONCE`] accounts of both nodes. While the second one does not answer, only what is proved
    /// is gone. What a transaction closed is gone, though the second one still has it.
    pub(super) async fn look(&self, addresses: &[Pubkey], at: At, from: u64) -> Result<Looked, SyncError> {
        let read = self.read_doubted(self.first_node().as_ref(), addresses, at, from).await?;
        let second = match self.source.witness() {
            Some(witness) => self.read_doubted(witness.as_ref(), addresses, at, read.slot).await,
            None => Ok(read.clone()),
        };
        let mut looked = Looked { slot: read.slot, ..Looked::default() };
        let (mut missing, mut differing) = (Vec::new(), Vec::new());
        for (place, (address, account)) in addresses.iter().zip(read.accounts).enumerate() {
            let agrees = second.as_ref().map_or(account.is_some(), |read| read.accounts.get(place) == Some(&account));
            match account {
                Some(account) if agrees => drop(looked.there.insert(*address, account.data)),
                None if agrees => looked.gone.push(*address),
                Some(_) => differing.push(*address),
                None => missing.push(*address),
            }
        }
        let proved = match second {
            Ok(_) => self.proved_on_chain(&missing).await?,
            Err(_) => self.proved_closed(&missing).await?,
        };
        missing.retain(|address| !proved.contains(address));
        looked.gone.extend(proved);
        match second {
            Ok(_) if missing.is_empty() && differing.is_empty() => {}
            Ok(_) => self.doubt_accounts(missing.into_iter().chain(differing)),
            Err(_) if missing.is_empty() => {}
            Err(error) => self.problems.set(
                "closing_unconfirmed",
                format!(
                    "the node at {} does not have {} accounts of the mirror, and no other node confirms that: they stay \
                     shown ({error})",
                    self.first_node().name(),
                    missing.len()
                ),
            ),
        }
        Ok(looked)
    }

    /// Reads accounts of one node; those that are not the program's count as gone. Fails if the node does not find an
    /// account that must exist, or answers for an earlier slot.
    pub(super) async fn read_doubted(
        &self,
        source: &dyn AccountSource,
        addresses: &[Pubkey],
        at: At,
        from: u64,
    ) -> Result<Read, SyncError> {
        let control = self.known().witnessed;
        let asked: Vec<Pubkey> = addresses.iter().chain(&control).copied().collect();
        let mut read = source.read(&asked, at, from).await?;
        if read.slot < from || read.accounts.len() != asked.len() {
            return Err(SyncError::Doubtful(format!(
                "the node at {} answered a read for slot {} with {} accounts for slot {}",
                source.name(),
                from,
                read.accounts.len(),
                read.slot
            )));
        }
        self.believe(read.slot).await?;
        self.keep_accounts(&mut read);
        if control.is_some() && !read.accounts.last().is_some_and(Option::is_some) {
            // It may be closed: the next snapshot names another one.
            if at == At::Confirmed {
                self.resync_now.notify_one();
            }
            return Err(SyncError::Doubtful(format!(
                "the node at {} does not find an account that exists",
                source.name()
            )));
        }
        read.accounts.truncate(addresses.len());
        Ok(read)
    }

    /// What is not the program's counts as gone.
    pub(super) fn keep_accounts(&self, read: &mut Read) {
        for account in &mut read.accounts {
            *account = account.take().filter(|account| account.owner == self.program && has_kind(&account.data));
        }
    }

    /// Of these accounts, those whose closing the stream told, or an event on the chain proves. The mirror has an open
    /// row of each.
    pub(super) async fn proved_closed(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let (told, rest): (Vec<Pubkey>, Vec<Pubkey>) = {
            let known = self.known();
            addresses.iter().copied().partition(|address| known.told_gone(address))
        };
        let mut proved = self.proved_on_chain(&rest).await?;
        proved.extend(told);
        Ok(proved)
    }

    /// Those that a transaction closed after their rows were stored.
    async fn proved_on_chain(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let Some(history) = &self.history else { return Ok(HashSet::new()) };
        let mut rows: HashMap<Pubkey, u64> = HashMap::new();
        for chunk in addresses.chunks(ROWS_PER_TRANSACTION) {
            rows.extend(mirror::still_open(&self.pool, chunk).await?.into_iter().map(|row| (row.address, row.slot)));
        }
        let after_its_row = |address: &Pubkey, proof: &Proof| rows.get(address).is_none_or(|slot| proof.slot >= *slot);
        Ok(search::closed(history.as_ref(), &self.program, addresses, after_its_row).await.into_iter().collect())
    }
}
