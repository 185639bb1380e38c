//! Rows that may be wrong are read again, and made equal to the chain, also if that goes back.

use std::collections::{BTreeMap, HashMap};

use crtx_protocol::mirror_digest::data_hash;
use crtx_store::{
    StoreError,
    mirror::{self, Corrected, Shown},
};
use solana_pubkey::Pubkey;
use tokio::time::sleep;

use super::{
    apply::{Item, batch_of},
    changes::State,
    error::SyncError,
    guard,
    parts::{Parts, READ_AT_ONCE, lock},
};
use crate::source::{At, Read};

/// Accounts that are read again in one round.
const PER_ROUND: usize = 20 * READ_AT_ONCE;

impl Parts {
    /// Reads suspected accounts again and corrects their rows.
    pub async fn look_at_suspects(&self) -> Result<(), SyncError> {
        let suspects = self.changes().suspects(PER_ROUND);
        for addresses in suspects.chunks(READ_AT_ONCE) {
            self.look_at(addresses).await?;
        }
        Ok(())
    }

    async fn look_at(&self, addresses: &[Pubkey]) -> Result<(), SyncError> {
        let from = self.not_before(addresses);
        let read = self.read_doubted(self.first_node().as_ref(), addresses, At::Confirmed, from).await?;
        let agreed = self.agreed(addresses, &read).await?;
        let shown = mirror::shown(&self.pool, &agreed).await?;
        let mut found: HashMap<Pubkey, Option<Vec<u8>>> = addresses
            .iter()
            .zip(read.accounts)
            .filter(|(address, _)| agreed.contains(address))
            .map(|(address, account)| (*address, account.map(|account| account.data)))
            .collect();
        let vanishing: Vec<Pubkey> = found
            .iter()
            .filter(|(address, data)| data.is_none() && is_open(&shown, address) && !self.told_gone(address))
            .map(|(address, _)| *address)
            .collect();
        for held in self.may_not_vanish(vanishing, read.slot).await? {
            found.remove(&held);
        }
        self.correct(found, read.slot).await?;
        self.changes().cleared(&agreed);
        Ok(())
    }

    /// The slot that a read needs so that it is not older than what was delivered. A slot that the chain has not
    /// reached is not waited for.
    fn not_before(&self, addresses: &[Pubkey]) -> u64 {
        let newest = {
            let changes = self.changes();
            addresses.iter().filter_map(|address| changes.newest(address)).map(|state| state.slot).max()
        };
        let newest = newest.unwrap_or_default().max(self.indexed());
        self.pulse.heard().chain_slot.map_or(newest, |slot| newest.min(slot))
    }

    /// The accounts that another node, if there is one, shows in the same state. The others are looked at again later.
    /// While it does not answer, nothing disappears that is not proved to be gone.
    async fn agreed(&self, addresses: &[Pubkey], read: &Read) -> Result<Vec<Pubkey>, SyncError> {
        let Some(witness) = self.source.witness() else { return Ok(addresses.to_vec()) };
        let pairs = addresses.iter().zip(&read.accounts);
        let Ok(other) = self.read_doubted(witness.as_ref(), addresses, At::Confirmed, read.slot).await else {
            let (gone, there): (Vec<_>, Vec<_>) = pairs.partition(|(_, account)| account.is_none());
            let gone = gone.into_iter().map(|(address, _)| *address).collect();
            let mut agreed = self.confirmed_gone(gone, At::Confirmed, read.slot).await?;
            agreed.extend(there.into_iter().map(|(address, _)| *address));
            return Ok(agreed);
        };
        let (same, differ): (Vec<_>, Vec<_>) = pairs.zip(&other.accounts).partition(|((_, one), other)| one == other);
        if !differ.is_empty() {
            lock(&self.doubts).add(differ.into_iter().map(|((address, _), _)| *address));
            self.doubt_now.notify_one();
        }
        Ok(same.into_iter().map(|((address, _), _)| *address).collect())
    }

    /// Of accounts that would vanish, those that may not: too many of them have no proof of their closing. Before more
    /// than a few vanish, a second read must not find them either.
    async fn may_not_vanish(&self, vanishing: Vec<Pubkey>, slot: u64) -> Result<Vec<Pubkey>, SyncError> {
        if !guard::needs_second_look(count(&vanishing), 0) || self.settings.accept_mass_closing {
            return Ok(Vec::new());
        }
        sleep(self.settings.second_look_after).await;
        let again = self.read_doubted(self.source.as_ref(), &vanishing, At::Confirmed, slot).await?;
        if again.accounts.iter().any(Option::is_some) {
            return Err(SyncError::Doubtful(format!(
                "the node at {} finds accounts that it did not find a moment ago",
                self.source.name()
            )));
        }
        let open = mirror::open_accounts(&self.pool).await?;
        if !guard::is_held(count(&vanishing), open) {
            return Ok(Vec::new());
        }
        let proved = self.proved_closed(&vanishing).await?;
        let unproved: Vec<Pubkey> = vanishing.into_iter().filter(|address| !proved.contains(address)).collect();
        if !guard::is_held(count(&unproved), open) {
            return Ok(Vec::new());
        }
        let message = guard::held_message(&self.source.name(), count(&unproved), open, "the program");
        self.problems.set("mass_closing_held", message);
        Ok(unproved)
    }

    async fn correct(&self, found: HashMap<Pubkey, Option<Vec<u8>>>, slot: u64) -> Result<(), SyncError> {
        let found: BTreeMap<Pubkey, Option<Vec<u8>>> = found.into_iter().collect();
        let (mut items, mut gone) = (Vec::new(), Vec::new());
        for (address, data) in found {
            match data {
                Some(data) => items.push(Item { address, slot, data, exact: false }),
                None => gone.push(address),
            }
        }
        let corrected = self.correct_rows(&items, &gone, slot).await?;
        if corrected != Corrected::default() {
            tracing::info!(slot, ?corrected, "the mirror took back what the chain does not have");
            self.listings_changed.notify_one();
        }
        let mut changes = self.changes();
        let states = items.iter().map(|item| (item.address, item.state()));
        let lost = gone.iter().map(|a| (*a, State::gone(slot)));
        for (address, state) in states.chain(lost) {
            if changes.newest(&address).is_none_or(|newest| newest.data_hash != state.data_hash) {
                changes.note(address, state);
            }
        }
        Ok(())
    }

    async fn correct_rows(&self, items: &[Item], gone: &[Pubkey], slot: u64) -> Result<Corrected, StoreError> {
        match mirror::correct(&self.pool, &batch_of(items)?, gone, slot).await {
            Err(error) if error.refuses_a_row() => {
                for item in items {
                    let one = std::slice::from_ref(item);
                    match mirror::correct(&self.pool, &batch_of(one)?, &[], slot).await {
                        Err(error) if error.refuses_a_row() => self.apply_changes(one, 0).await?,
                        corrected => drop(corrected?),
                    }
                }
                mirror::correct(&self.pool, &mirror::Batch::default(), gone, slot).await
            }
            corrected => corrected,
        }
    }
}

fn count(addresses: &[Pubkey]) -> u64 {
    u64::try_from(addresses.len()).unwrap_or(u64::MAX)
}

fn is_open(shown: &HashMap<Pubkey, Vec<Shown>>, address: &Pubkey) -> bool {
    shown.get(address).is_some_and(|rows| rows.iter().any(|row| row.open))
}

/// Whether the mirror shows a state: its row is open and has these bytes, or there is no open row.
pub fn shows(shown: &HashMap<Pubkey, Vec<Shown>>, address: &Pubkey, data: Option<[u8; 32]>) -> bool {
    let mut open = shown.get(address).into_iter().flatten().filter(|row| row.open).peekable();
    match data {
        None => open.peek().is_none(),
        Some(hash) => open.any(|row| row.data_hash == Some(hash)),
    }
}

/// The hash of an account's bytes, as the digest takes it.
pub fn hash_of(data: Option<&[u8]>) -> Option<[u8; 32]> {
    data.map(data_hash)
}
