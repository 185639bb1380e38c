//! All accounts of the finalized state, as a whole: the digest's first filling, and its repair. It also finds rows that
//! no stream and no snapshot corrects: states of forks that were dropped while nobody looked.

use std::mem;

use crtx_protocol::mirror_digest::data_hash;
use crtx_store::mirror::{self, FinalHashes};
use solana_pubkey::Pubkey;

use super::{
    closing::count,
    correct::shows,
    known::Known,
    look::READ_AT_ONCE,
    syncer::{SyncError, Syncer},
    writer::ROWS_PER_TRANSACTION,
};
use crate::{
    snapshots::AddressSet,
    source::{At, SnapshotItem, has_kind},
};

const ACCOUNTS_PER_PAGE: u32 = 5_000;

/// Whether an account has changes that are not final. Once the digest is filled, they are left to the rounds.
fn is_left_to_the_rounds(known: &Known, address: &Pubkey) -> bool {
    known.filled && known.changes.is_pending(address)
}

impl Syncer {
    /// Reads all finalized accounts. The first time, nothing is known of what happened before. Later, accounts with
    /// changes that are not final are left to the rounds.
    pub(super) async fn fill(&self) -> Result<(), SyncError> {
        let finalized = self.finalized_slot().await?;
        let first = {
            let mut known = self.known();
            // The next snapshot compares the stored slots again.
            known.slots_checked = false;
            let first = mem::take(&mut known.changes.overflowed) || !known.filled;
            known.filled = !first;
            first
        };
        if first {
            mirror::begin_digest(&self.pool, self.id).await?;
        }
        let mut snapshot = self.source.snapshot(At::Finalized, finalized).await?;
        let (mut seen, mut highest, mut differed): (AddressSet, u64, u64) = (AddressSet::default(), finalized, 0);
        while let SnapshotItem::Page { slot, accounts } = self.next_part(&mut snapshot, finalized).await? {
            highest = highest.max(slot);
            for chunk in accounts.chunks(ROWS_PER_TRANSACTION) {
                differed = differed.saturating_add(self.fill_page(chunk, slot, &mut seen).await?);
            }
        }
        let seen = seen.sorted();
        highest = highest.max(self.find_gone(&seen, highest).await?);
        self.suspect_rows(&seen).await?;
        tracing::debug!(finalized, accounts = seen.len(), differed, "read the finalized accounts");
        let mut known = self.known();
        known.filled_at = known.filled_at.max(highest);
        // One account was not as the mirror knew it, so others may not be either: all are read once more.
        known.filled = first || differed == 0;
        Ok(())
    }

    async fn fill_page(
        &self,
        accounts: &[(Pubkey, Vec<u8>)],
        slot: u64,
        seen: &mut AddressSet,
    ) -> Result<u64, SyncError> {
        let mut states = FinalHashes::new();
        for (address, data) in accounts.iter().filter(|(_, data)| has_kind(data)) {
            seen.add(address);
            if !is_left_to_the_rounds(&self.known(), address) {
                states.insert(*address, Some(data_hash(data)));
            }
        }
        let addresses: Vec<Pubkey> = states.keys().copied().collect();
        let shown = mirror::shown(&self.pool, &addresses).await?;
        let wrong: Vec<Pubkey> = {
            let known = self.known();
            let settled = states.iter().filter(|(address, _)| !known.changes.is_pending(address));
            let wrong = settled.filter(|(address, hash)| !shows(&shown, address, **hash));
            wrong.map(|(address, _)| *address).collect()
        };
        self.recheck(wrong)?;
        self.write_final(slot, &states).await
    }

    async fn write_final(&self, slot: u64, states: &FinalHashes) -> Result<u64, SyncError> {
        let differed = mirror::fill_digest(&self.pool, self.id, slot, states).await?;
        if differed.is_none() {
            self.known().filled = false;
        }
        differed.ok_or_else(|| SyncError::Doubtful("another process has taken the digest over".to_owned()))
    }

    fn recheck(&self, addresses: impl IntoIterator<Item = Pubkey>) -> Result<(), SyncError> {
        if self.known().changes.recheck(addresses) {
            return Ok(());
        }
        Err(SyncError::Doubtful(format!(
            "the finalized accounts of the node at {} are not those of the mirror",
            self.source.name()
        )))
    }

    /// Removes accounts that were final and are gone. Returns the slot at which they were read last.
    async fn find_gone(&self, seen: &AddressSet, slot: u64) -> Result<u64, SyncError> {
        let (mut after, mut highest, mut missing, mut finals) = (String::new(), slot, Vec::new(), 0_u64);
        loop {
            let page = mirror::final_hashes_after(&self.pool, &after, ACCOUNTS_PER_PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = last.to_string();
            finals = finals.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
            let known = self.known();
            let is_gone = |address: &Pubkey| !seen.has(address) && !is_left_to_the_rounds(&known, address);
            missing.extend(page.into_iter().map(|(address, _)| address).filter(is_gone));
        }
        // The others disappeared before, with a proof.
        let mut lost = Vec::new();
        for chunk in missing.chunks(ROWS_PER_TRANSACTION) {
            lost.extend(mirror::still_open(&self.pool, chunk).await?.into_iter().map(|row| row.address));
        }
        if self.is_held(count(&lost), finals) {
            self.take_proved(&mut lost).await?;
        }
        let lost = count(&lost);
        let nothing_is_left = seen.is_empty() && finals > 0 && !self.settings.accept_mass_closing;
        if self.is_held(lost, finals) || nothing_is_left {
            return Err(self.tell_held(lost, finals, "the finalized state"));
        }
        for addresses in missing.chunks(READ_AT_ONCE) {
            let looked = self.look(addresses, At::Finalized, slot).await?;
            highest = highest.max(looked.slot);
            let there = looked.there.iter().map(|(address, data)| (*address, Some(data_hash(data))));
            let states = there.chain(looked.gone.into_iter().map(|address| (address, None)));
            self.write_final(looked.slot, &states.collect()).await?;
            self.recheck(addresses.iter().copied())?;
        }
        Ok(highest)
    }

    /// Suspects rows of accounts that are not finalized: they are newer, or were dropped with a fork.
    async fn suspect_rows(&self, seen: &AddressSet) -> Result<(), SyncError> {
        let skipped = |address: &Pubkey| seen.has(address) || self.known().changes.is_pending(address);
        for of in mirror::missing(&self.pool, i64::MAX.unsigned_abs(), skipped).await?.into_values() {
            self.recheck(of.addresses)?;
        }
        Ok(())
    }
}
