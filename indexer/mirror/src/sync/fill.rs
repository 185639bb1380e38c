//! All accounts of the finalized state, as a whole: the digest's first filling, and its repair. It also finds rows that
//! no stream and no snapshot corrects: states of forks that were dropped while nobody looked.

use std::{collections::HashSet, sync::atomic::Ordering};

use crtx_store::mirror::{self, FinalState, FinalStep};
use solana_pubkey::Pubkey;

use super::{
    apply::{ROWS_PER_TRANSACTION, counts},
    changes::Changes,
    correct::{hash_of, shows},
    error::SyncError,
    guard,
    parts::{Parts, READ_AT_ONCE},
    resync::Part,
    seen::Seen,
};
use crate::source::At;

const ACCOUNTS_PER_PAGE: u32 = 5_000;

impl Parts {
    /// Reads all finalized accounts. The first time, nothing is known of what happened before. Later, accounts with
    /// changes that are not final are left to the rounds.
    pub async fn fill(&self) -> Result<(), SyncError> {
        let finalized = self.finalized_slot().await?;
        // The next snapshot compares the stored slots again.
        self.slots_checked.store(false, Ordering::Relaxed);
        let first = self.changes().start_over() || !self.filled.load(Ordering::Relaxed);
        if first {
            self.filled.store(false, Ordering::Relaxed);
            mirror::begin_digest(&self.pool, self.id).await?;
        }
        let mut snapshot = self.source.snapshot(At::Finalized, finalized).await?;
        let (mut seen, mut highest, mut differed): (Seen, u64, u64) = (Seen::default(), finalized, 0);
        loop {
            match self.next_part(&mut snapshot, finalized, None).await? {
                Part::End { .. } => break,
                Part::Page { slot, accounts } => {
                    highest = highest.max(slot);
                    for chunk in accounts.chunks(ROWS_PER_TRANSACTION) {
                        differed = differed.saturating_add(self.fill_page(chunk, slot, &mut seen).await?);
                    }
                }
            }
        }
        let seen = seen.sorted();
        highest = highest.max(self.find_gone(&seen, highest).await?);
        self.suspect_rows(&seen).await?;
        tracing::debug!(finalized, accounts = seen.len(), differed, "read the finalized accounts");
        self.filled_at.fetch_max(highest, Ordering::Relaxed);
        // If an account was not as it was known, nothing is: all of them are read once more.
        self.filled.store(first || differed == 0, Ordering::Relaxed);
        Ok(())
    }

    async fn fill_page(&self, accounts: &[(Pubkey, Vec<u8>)], slot: u64, seen: &mut Seen) -> Result<u64, SyncError> {
        let mut states = Vec::with_capacity(accounts.len());
        {
            let changes = self.changes();
            for (address, data) in accounts.iter().filter(|(_, data)| counts(data)) {
                if !seen.add(address) {
                    return Err(SyncError::Doubtful(
                        "the snapshot has more accounts than a mirror can hold".to_owned(),
                    ));
                }
                if !self.is_left_to_the_rounds(&changes, address) {
                    states.push(FinalState { address: *address, data_hash: hash_of(Some(data)) });
                }
            }
        }
        let addresses: Vec<Pubkey> = states.iter().map(|state| state.address).collect();
        let shown = mirror::shown(&self.pool, &addresses).await?;
        let wrong: Vec<Pubkey> = {
            let changes = self.changes();
            let settled = states.iter().filter(|state| !changes.is_pending(&state.address));
            let wrong = settled.filter(|state| !shows(&shown, &state.address, state.data_hash));
            wrong.map(|state| state.address).collect()
        };
        self.suspect(wrong)?;
        self.write_final(slot, states).await
    }

    fn is_left_to_the_rounds(&self, changes: &Changes, address: &Pubkey) -> bool {
        self.filled.load(Ordering::Relaxed) && changes.is_pending(address)
    }

    async fn write_final(&self, slot: u64, states: Vec<FinalState>) -> Result<u64, SyncError> {
        let taken = || SyncError::Doubtful("another process has taken the digest over".to_owned());
        let differed = mirror::fill_digest(&self.pool, self.id, &FinalStep { slot, states }).await?;
        if differed.is_none() {
            self.filled.store(false, Ordering::Relaxed);
        }
        differed.ok_or_else(taken)
    }

    fn suspect(&self, addresses: impl IntoIterator<Item = Pubkey>) -> Result<(), SyncError> {
        if self.changes().suspect(addresses) {
            return Ok(());
        }
        Err(SyncError::Doubtful(format!(
            "the finalized accounts of the node at {} are not those of the mirror",
            self.source.name()
        )))
    }

    /// Removes accounts that were final and are gone. Returns the slot at which they were read last.
    async fn find_gone(&self, seen: &Seen, slot: u64) -> Result<u64, SyncError> {
        let (mut after, mut highest, mut missing, mut known) = (String::new(), slot, Vec::new(), 0_u64);
        loop {
            let page = mirror::final_hashes_after(&self.pool, &after, ACCOUNTS_PER_PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = last.to_string();
            known = known.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
            let changes = self.changes();
            let is_gone = |address: &Pubkey| !seen.has(address) && !self.is_left_to_the_rounds(&changes, address);
            missing.extend(page.into_iter().map(|(address, _)| address).filter(is_gone));
        }
        let lost = self.open_rows_of(&missing).await?;
        let mass = guard::is_held(lost, known) || (seen.is_empty() && known > 0);
        if mass && !self.settings.accept_mass_closing {
            let message = guard::held_message(&self.source.name(), lost, known, "the finalized state");
            self.problems.set("mass_closing_held", &message);
            return Err(SyncError::Doubtful(message));
        }
        for addresses in missing.chunks(READ_AT_ONCE) {
            let read = self.read_doubted(self.first_node().as_ref(), addresses, At::Finalized, slot).await?;
            highest = highest.max(read.slot);
            let gone = addresses.iter().zip(&read.accounts).filter(|(_, account)| account.is_none());
            let gone: Vec<Pubkey> = gone.map(|(address, _)| *address).collect();
            let believed: HashSet<Pubkey> =
                self.confirmed_gone(gone, At::Finalized, read.slot).await?.into_iter().collect();
            let state = |(address, account): (&Pubkey, &Option<crate::source::OwnedAccount>)| FinalState {
                address: *address,
                data_hash: hash_of(account.as_ref().map(|account| account.data.as_slice())),
            };
            let stated = |(address, account): &(&Pubkey, &Option<crate::source::OwnedAccount>)| {
                account.is_some() || believed.contains(address)
            };
            let states = addresses.iter().zip(&read.accounts).filter(stated).map(state).collect();
            self.write_final(read.slot, states).await?;
            self.suspect(addresses.iter().copied())?;
        }
        Ok(highest)
    }

    /// How many of these accounts the mirror shows as open. The others disappeared before, with a proof.
    async fn open_rows_of(&self, addresses: &[Pubkey]) -> Result<u64, SyncError> {
        let mut open = 0_u64;
        for chunk in addresses.chunks(ROWS_PER_TRANSACTION) {
            let shown = mirror::shown(&self.pool, chunk).await?;
            let there = shown.values().filter(|rows| rows.iter().any(|row| row.open)).count();
            open = open.saturating_add(u64::try_from(there).unwrap_or(u64::MAX));
        }
        Ok(open)
    }

    /// Suspects rows of accounts that are not finalized: they are newer, or were dropped with a fork.
    async fn suspect_rows(&self, seen: &Seen) -> Result<(), SyncError> {
        let skipped = |address: &Pubkey| seen.has(address) || self.changes().is_pending(address);
        for of in mirror::missing(&self.pool, i64::MAX.unsigned_abs(), skipped).await? {
            self.suspect(of.addresses)?;
        }
        Ok(())
    }
}
