//! All accounts of the finalized state, as a whole: the digest's first filling, and its repair. It also finds rows that
//! no stream and no snapshot corrects: states of forks that were dropped while nobody looked.

use std::{collections::HashSet, sync::atomic::Ordering};

use crtx_store::mirror::{self, FinalState, FinalStep};
use solana_pubkey::Pubkey;

use super::{
    apply::{ROWS_PER_TRANSACTION, counts},
    closing::READ_AT_ONCE,
    correct::{hash_of, shows},
    error::SyncError,
    guard,
    parts::Parts,
    resync::Part,
    seen::Seen,
};
use crate::source::At;

impl Parts {
    /// Reads all finalized accounts. Accounts with changes that are not final are left to the rounds.
    pub async fn fill(&self) -> Result<(), SyncError> {
        let finalized = self.source.slot(At::Finalized).await?;
        self.changes().start_over();
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
        self.filled.store(true, Ordering::Relaxed);
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
                if !changes.is_pending(address) {
                    states.push(FinalState { address: *address, data_hash: hash_of(Some(data)) });
                }
            }
        }
        let addresses: Vec<Pubkey> = states.iter().map(|state| state.address).collect();
        let shown = mirror::shown(&self.pool, &addresses).await?;
        let wrong = states.iter().filter(|state| !shows(&shown, &state.address, state.data_hash));
        self.suspect(wrong.map(|state| state.address))?;
        Ok(mirror::fill_digest(&self.pool, &FinalStep { slot, states }).await?)
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
            let page = mirror::final_accounts_after(&self.pool, &after).await?;
            let Some(last) = page.last() else { break };
            after = last.to_string();
            known = known.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
            let changes = self.changes();
            missing.extend(page.into_iter().filter(|address| !seen.has(address) && !changes.is_pending(address)));
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
            mirror::fill_digest(&self.pool, &FinalStep { slot: read.slot, states }).await?;
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
