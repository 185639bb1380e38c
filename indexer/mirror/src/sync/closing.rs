//! Accounts that a snapshot does not have. Nothing is hidden because of one answer.

use std::collections::HashSet;

use crtx_store::mirror::{self, Missing};
use solana_pubkey::Pubkey;
use tokio::time::sleep;

use super::{
    apply::counts,
    changes::State,
    error::SyncError,
    guard,
    parts::{Parts, READ_AT_ONCE, lock},
    resync::Part,
    seen::Seen,
};
use crate::source::{AccountSource, At, Read};

impl Parts {
    /// Hides the accounts that neither the snapshot nor further reads find. False: some of them stay shown, because their
    /// end is not confirmed, so the snapshot does not prove its slot.
    pub async fn find_closed(&self, seen: Seen, slot: u64) -> Result<bool, SyncError> {
        let mut missing = mirror::missing(&self.pool, slot, |address| seen.has(address)).await?;
        drop(seen);
        // What the stream told needs no other proof than the read that follows.
        let mut told = Vec::new();
        for of in &mut missing {
            let (gone, rest) = of.addresses.drain(..).partition(|address| self.told_gone(address));
            of.addresses = rest;
            told.extend::<Vec<Pubkey>>(gone);
        }
        let doubted = |of: &Missing| guard::needs_second_look(count(of), of.open);
        if missing.iter().any(|of| doubted(of) || of.table == "mirror_config") {
            self.look_again_for(&mut missing, slot).await?;
        }
        let (mut held, mut all_gone) = (None, true);
        let (mut proved, mut candidates) = (told, Vec::new());
        for mut of in missing.into_iter().filter(|of| !of.addresses.is_empty()) {
            // The configuration is never closed.
            let is_held = |of: &Missing| guard::is_held(count(of), of.open) || of.table == "mirror_config";
            if is_held(&of) && !self.settings.accept_mass_closing {
                let closed = self.proved_closed(&of.addresses).await?;
                of.addresses.retain(|address| !closed.contains(address));
                proved.extend(closed);
            }
            if is_held(&of) && !self.settings.accept_mass_closing {
                held = Some(guard::held_message(&self.first_node().name(), count(&of), of.open, of.table));
            } else {
                candidates.extend(of.addresses);
            }
        }
        match held {
            // The same node told both, so nothing of it is believed but what is proved.
            Some(message) => {
                self.problems.set("mass_closing_held", message);
                candidates.clear();
                all_gone = false;
            }
            None => self.problems.clear(&["mass_closing_held"]),
        }
        self.problems.clear(&["closing_unconfirmed"]);
        candidates.extend(proved);
        for addresses in candidates.chunks(READ_AT_ONCE) {
            all_gone &= self.close_if_gone(addresses, slot).await?;
        }
        Ok(all_gone)
    }

    /// Keeps only what a later snapshot, and one of another node, does not have either.
    async fn look_again_for(&self, missing: &mut [Missing], slot: u64) -> Result<(), SyncError> {
        sleep(self.settings.second_look_after).await;
        self.forget_found(self.source.as_ref(), missing, slot).await?;
        let Some(witness) = self.source.witness() else { return Ok(()) };
        match self.forget_found(witness.as_ref(), missing, slot).await {
            Ok(found) if found.is_empty() => {}
            Ok(found) => {
                lock(&self.doubts).add(found);
                self.doubt_now.notify_one();
            }
            Err(error @ SyncError::Store(_)) => return Err(error),
            // Each account is asked for again before it is hidden.
            Err(error) => tracing::debug!(cause = %error, "another node could not be asked for a snapshot"),
        }
        Ok(())
    }

    /// Forgets the missing accounts that a snapshot of this node has, and returns them.
    async fn forget_found(
        &self,
        source: &dyn AccountSource,
        missing: &mut [Missing],
        slot: u64,
    ) -> Result<Vec<Pubkey>, SyncError> {
        let mut wanted: HashSet<Pubkey> = missing.iter().flat_map(|of| of.addresses.iter().copied()).collect();
        let mut found = Vec::new();
        let mut snapshot = source.snapshot(At::Confirmed, slot).await?;
        while let Part::Page { accounts, .. } = self.next_part(&mut snapshot, slot, None).await? {
            let there = accounts.iter().filter(|(_, data)| counts(data)).map(|(address, _)| *address);
            found.extend(there.filter(|address| wanted.remove(address)));
        }
        for of in missing {
            of.addresses.retain(|address| wanted.contains(address));
        }
        Ok(found)
    }

    /// Reads accounts again, and marks those that are gone. False if another node does not confirm one of them.
    async fn close_if_gone(&self, addresses: &[Pubkey], slot: u64) -> Result<bool, SyncError> {
        let read = self.read_doubted(self.first_node().as_ref(), addresses, At::Confirmed, slot).await?;
        let gone: Vec<Pubkey> = addresses
            .iter()
            .zip(&read.accounts)
            .filter(|(_, account)| account.is_none())
            .map(|(address, _)| *address)
            .collect();
        let not_found = gone.len();
        let gone = self.confirmed_gone(gone, At::Confirmed, read.slot).await?;
        let all_gone = gone.len() == not_found;
        if gone.is_empty() {
            return Ok(all_gone);
        }
        // Before the rows change: if this ends between the two, the finalized state is compared all the same.
        {
            let proved = self.proved().newest();
            let mut changes = self.changes();
            gone.iter().for_each(|address| changes.note(*address, State::gone(read.slot).known_until(proved)));
        }
        mirror::mark_closed(&self.pool, &gone, read.slot).await?;
        Ok(all_gone)
    }

    /// Reads at most [`READ_AT_ONCE`] accounts; those that are not the program's count as gone. Fails if the node does
    /// not find an account that must exist, or answers for an earlier slot.
    pub async fn read_doubted(
        &self,
        source: &dyn AccountSource,
        addresses: &[Pubkey],
        at: At,
        from: u64,
    ) -> Result<Read, SyncError> {
        let control = self.witnessed();
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
}

impl Parts {
    /// What is not the program's counts as gone.
    pub fn keep_accounts(&self, read: &mut Read) {
        for account in &mut read.accounts {
            if account.as_ref().is_some_and(|account| account.owner != self.program || !counts(&account.data)) {
                *account = None;
            }
        }
    }
}

fn count(of: &Missing) -> u64 {
    u64::try_from(of.addresses.len()).unwrap_or(u64::MAX)
}
