//! Accounts that an answer does not have. Nothing is hidden because of one answer: each is read again, a second node, if
//! there is one, confirms it, and a mass of them stays shown until an operator decides.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crtx_store::{
    StoreError,
    mirror::{self, Missing},
};
use solana_pubkey::Pubkey;
use tokio::time::sleep;

use super::{
    changes::State,
    syncer::{SyncError, Syncer},
    writer::{ROWS_PER_TRANSACTION, counts},
};
use crate::{
    closings::{proof, search::Proof},
    snapshots::Seen,
    source::{AccountSource, At, MAX_ACCOUNTS_PER_READ, Read, SnapshotItem},
};

/// One place of a read is for an account that must exist.
pub const READ_AT_ONCE: usize = MAX_ACCOUNTS_PER_READ - 1;
/// So many accounts can close between two snapshots without a second look, or one in a hundred.
const FEW: u64 = 10;
/// More than so many, and more than one in five, are hidden only if the operator allows it.
const MANY: u64 = 50;

/// Whether so many missing accounts, of so many that are open, need a second look.
pub const fn needs_second_look(missing: u64, open: u64) -> bool {
    missing > FEW && missing > open.div_euclid(100)
}

/// Whether so many missing accounts stay shown until the operator allows to hide them.
const fn is_mass(missing: u64, open: u64) -> bool {
    missing > MANY && missing > open.div_euclid(5)
}

/// How many there are, as the bounds count.
pub fn count(addresses: &[Pubkey]) -> u64 {
    u64::try_from(addresses.len()).unwrap_or(u64::MAX)
}

impl Read {
    /// Those of the addresses asked for that have no account.
    pub fn gone<'a>(&'a self, addresses: &'a [Pubkey]) -> impl Iterator<Item = Pubkey> + 'a {
        addresses.iter().zip(&self.accounts).filter(|(_, account)| account.is_none()).map(|(address, _)| *address)
    }
}

impl Syncer {
    /// Whether so many missing accounts stay shown.
    pub(super) fn is_held(&self, missing: u64, open: u64) -> bool {
        is_mass(missing, open) && !self.settings.accept_mass_closing
    }

    /// Says so, and what the operator can do.
    pub(super) fn tell_held(&self, node: &str, missing: u64, open: u64, what: &str) -> SyncError {
        let message = format!(
            "the node at {node} does not have {missing} of {open} open accounts of {what}: they stay shown. If they are \
             closed indeed, set `indexer.accept_mass_closing = true` until the next snapshot was applied; otherwise use \
             another node"
        );
        self.problems.set("mass_closing_held", &message);
        SyncError::Doubtful(message)
    }

    /// The node that is asked first, and no other in its place if there are two.
    pub(super) fn first_node(&self) -> Arc<dyn AccountSource> {
        self.source.preferred().unwrap_or_else(|| Arc::clone(&self.source))
    }

    /// Two nodes may show these accounts differently.
    pub(super) fn doubt_accounts(&self, addresses: impl IntoIterator<Item = Pubkey>) {
        self.known().doubts.add(addresses);
        self.doubt_now.notify_one();
    }

    /// Hides the accounts that neither the snapshot nor further reads find. False: some of them stay shown, because their
    /// end is not confirmed, so the snapshot does not prove its slot.
    pub(super) async fn find_closed(&self, seen: Seen, slot: u64) -> Result<bool, SyncError> {
        let mut missing = mirror::missing(&self.pool, slot, |address| seen.has(address)).await?;
        drop(seen);
        // What the stream told needs no other proof than the read that follows.
        let mut proved = Vec::new();
        for of in &mut missing {
            let known = self.known();
            proved.extend(of.addresses.extract_if(.., |address| known.told_gone(address)));
        }
        // The configuration is never closed.
        let is_config = |of: &Missing| of.table == "mirror_config";
        if missing.iter().any(|of| needs_second_look(count(&of.addresses), of.open) || is_config(of)) {
            self.look_again_for(&mut missing, slot).await?;
        }
        let is_held = |of: &Missing| {
            self.is_held(count(&of.addresses), of.open) || is_config(of) && !self.settings.accept_mass_closing
        };
        let (mut held, mut candidates) = (false, Vec::new());
        for mut of in missing.into_iter().filter(|of| !of.addresses.is_empty()) {
            if is_held(&of) {
                let closed = self.proved_closed(&of.addresses).await?;
                of.addresses.retain(|address| !closed.contains(address));
                proved.extend(closed);
            }
            if is_held(&of) {
                self.tell_held(&self.first_node().name(), count(&of.addresses), of.open, of.table);
                held = true;
            } else {
                candidates.extend(of.addresses);
            }
        }
        if held {
            // The same node told both, so nothing of it is believed but what is proved.
            candidates.clear();
        } else {
            self.problems.clear(&["mass_closing_held"]);
        }
        self.problems.clear(&["closing_unconfirmed"]);
        candidates.extend(proved);
        let mut all_gone = !held;
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
            Ok(found) => self.doubt_accounts(found),
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
        while let SnapshotItem::Page { accounts, .. } = self.next_part(&mut snapshot, slot, None).await? {
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
        let not_found: Vec<Pubkey> = read.gone(addresses).collect();
        let missing = not_found.len();
        let gone = self.confirmed_gone(not_found, At::Confirmed, read.slot).await?;
        // Before the rows change: if this ends between the two, the finalized state is compared all the same.
        {
            let mut known = self.known();
            let state = State::gone(read.slot).known_until(known.proved.newest());
            gone.iter().for_each(|address| known.changes.note(*address, state));
        }
        if !gone.is_empty() {
            mirror::mark_closed(&self.pool, &gone, read.slot).await?;
        }
        Ok(gone.len() == missing)
    }

    /// Reads at most [`READ_AT_ONCE`] accounts; those that are not the program's count as gone. Fails if the node does
    /// not find an account that must exist, or answers for an earlier slot.
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
            *account = account.take().filter(|account| account.owner == self.program && counts(&account.data));
        }
    }

    /// Of accounts that a read at `slot` did not find, those that another node, if there is one, does not have either.
    /// While it does not answer, only what is proved is gone.
    pub(super) async fn confirmed_gone(
        &self,
        mut addresses: Vec<Pubkey>,
        at: At,
        slot: u64,
    ) -> Result<Vec<Pubkey>, SyncError> {
        let Some(second) = self.source.witness().filter(|_| !addresses.is_empty()) else { return Ok(addresses) };
        match self.read_doubted(second.as_ref(), &addresses, at, slot).await {
            Ok(read) => {
                let gone: HashSet<Pubkey> = read.gone(&addresses).collect();
                let mut there: Vec<Pubkey> =
                    addresses.iter().filter(|address| !gone.contains(address)).copied().collect();
                if !there.is_empty() {
                    let proved = self.proved_on_chain(&there).await?;
                    there.retain(|address| !proved.contains(address));
                    addresses.retain(|address| !there.contains(address));
                    self.doubt_accounts(there);
                }
            }
            Err(error) => {
                let proved = self.proved_closed(&addresses).await?;
                let shown = addresses.len().saturating_sub(proved.len());
                if shown > 0 {
                    let message = format!(
                        "the node at {} does not have {shown} accounts of the mirror, and no other node confirms that: \
                         they stay shown ({error})",
                        self.first_node().name()
                    );
                    self.problems.set("closing_unconfirmed", message);
                }
                addresses.retain(|address| proved.contains(address));
            }
        }
        Ok(addresses)
    }

    /// Of these accounts, those whose closing the stream told, or an event on the chain proves. The mirror has an open
    /// row of each.
    pub(super) async fn proved_closed(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let (mut proved, rest): (Vec<Pubkey>, Vec<Pubkey>) = {
            let known = self.known();
            addresses.iter().copied().partition(|address| known.told_gone(address))
        };
        proved.extend(self.proved_on_chain(&rest).await?);
        Ok(proved.into_iter().collect())
    }

    /// Those that a transaction closed after their rows were stored.
    async fn proved_on_chain(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let Some(history) = &self.history else { return Ok(HashSet::new()) };
        let mut rows: HashMap<Pubkey, u64> = HashMap::new();
        for chunk in addresses.chunks(ROWS_PER_TRANSACTION) {
            rows.extend(mirror::still_open(&self.pool, chunk).await?.into_iter().map(|row| (row.address, row.slot)));
        }
        let after_its_row = |address: &Pubkey, proof: &Proof| rows.get(address).is_none_or(|slot| proof.slot >= *slot);
        Ok(proof::closed(history.as_ref(), &self.program, addresses, after_its_row).await.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_need_no_second_look_and_a_mass_is_held() {
        for (missing, open, look, held) in [
            (10, 10, false, false),
            (11, 20, true, false),
            (50, 50, true, false),
            (51, 51, true, true),
            (51, 254, true, true),
            (51, 255, true, false),
            (51, 1_000, true, false),
            (100, 10_000, false, false),
            (101, 10_000, true, false),
        ] {
            assert_eq!((needs_second_look(missing, open), is_mass(missing, open)), (look, held), "{missing} of {open}");
        }
    }
}
