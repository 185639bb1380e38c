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
    changes::State,
    closing::{READ_AT_ONCE, count, needs_second_look},
    syncer::{SyncError, Syncer},
    writer::{Item, batch_of},
};
use crate::source::{At, Read};

/// Accounts that are read again in one round.
const PER_ROUND: usize = 20 * READ_AT_ONCE;

impl Syncer {
    /// Reads suspected accounts again and corrects their rows.
    pub(super) async fn look_at_suspects(&self) -> Result<(), SyncError> {
        let suspects = self.known().changes.suspects(PER_ROUND);
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
        let mut found: BTreeMap<Pubkey, Option<Vec<u8>>> = addresses
            .iter()
            .zip(read.accounts)
            .filter(|(address, _)| agreed.contains(address))
            .map(|(address, account)| (*address, account.map(|account| account.data)))
            .collect();
        let vanishing: Vec<Pubkey> = {
            let known = self.known();
            let gone = found.iter().filter(|(_, data)| data.is_none()).map(|(address, _)| *address);
            gone.filter(|address| is_open(&shown, address) && !known.told_gone(address)).collect()
        };
        for held in self.may_not_vanish(vanishing, read.slot).await? {
            found.remove(&held);
        }
        self.correct(found, read.slot).await?;
        self.known().changes.cleared(&agreed);
        Ok(())
    }

    /// The slot that a read needs so that it is not older than what was delivered. A slot that the chain has not
    /// reached is not waited for.
    fn not_before(&self, addresses: &[Pubkey]) -> u64 {
        let known = self.known();
        let newest = addresses.iter().filter_map(|address| known.changes.newest(address)).map(|state| state.slot).max();
        let newest = newest.unwrap_or_default().max(known.indexed);
        known.heard.chain_slot.map_or(newest, |slot| newest.min(slot))
    }

    /// The accounts that another node, if there is one, shows in the same state. The others are looked at again later.
    /// While it does not answer, nothing disappears that is not proved to be gone.
    async fn agreed(&self, addresses: &[Pubkey], read: &Read) -> Result<Vec<Pubkey>, SyncError> {
        let Some(witness) = self.source.witness() else { return Ok(addresses.to_vec()) };
        let pairs = addresses.iter().copied().zip(&read.accounts);
        let Ok(other) = self.read_doubted(witness.as_ref(), addresses, At::Confirmed, read.slot).await else {
            let mut agreed = self.confirmed_gone(read.gone(addresses).collect(), At::Confirmed, read.slot).await?;
            agreed.extend(pairs.filter(|(_, account)| account.is_some()).map(|(address, _)| address));
            return Ok(agreed);
        };
        let (same, differ): (Vec<_>, Vec<_>) = pairs.zip(&other.accounts).partition(|((_, one), other)| one == other);
        if !differ.is_empty() {
            self.doubt_accounts(differ.into_iter().map(|((address, _), _)| address));
        }
        Ok(same.into_iter().map(|((address, _), _)| address).collect())
    }

    /// Of accounts that would vanish, those that may not: too many of them have no proof of their closing. Before more
    /// than a few vanish, a second read must not find them either.
    async fn may_not_vanish(&self, mut vanishing: Vec<Pubkey>, slot: u64) -> Result<Vec<Pubkey>, SyncError> {
        if !needs_second_look(count(&vanishing), 0) || self.settings.accept_mass_closing {
            return Ok(Vec::new());
        }
        sleep(self.settings.second_look_after).await;
        let again = self.read_doubted(self.source.as_ref(), &vanishing, At::Confirmed, slot).await?;
        if again.accounts.iter().any(Option::is_some) {
            return Err(self.doubtful("finds accounts that it did not find a moment ago"));
        }
        let open = mirror::open_accounts(&self.pool).await?;
        if !self.is_held(count(&vanishing), open) {
            return Ok(Vec::new());
        }
        let proved = self.proved_closed(&vanishing).await?;
        vanishing.retain(|address| !proved.contains(address));
        if !self.is_held(count(&vanishing), open) {
            return Ok(Vec::new());
        }
        self.tell_held(&self.source.name(), count(&vanishing), open, "the program");
        Ok(vanishing)
    }

    async fn correct(&self, found: BTreeMap<Pubkey, Option<Vec<u8>>>, slot: u64) -> Result<(), SyncError> {
        let (mut items, mut gone) = (Vec::new(), Vec::new());
        for (address, data) in found {
            match data {
                Some(data) => items.push(Item::read(address, slot, data)),
                None => gone.push(address),
            }
        }
        let corrected = self.correct_rows(&items, &gone, slot).await?;
        if corrected != Corrected::default() {
            tracing::info!(slot, ?corrected, "the mirror took back what the chain does not have");
            self.listings_changed.notify_one();
        }
        let mut known = self.known();
        let states = items.iter().map(|item| (item.address, item.state));
        for (address, state) in states.chain(gone.into_iter().map(|address| (address, State::gone(slot)))) {
            if known.changes.newest(&address).is_none_or(|newest| newest.data_hash != state.data_hash) {
                known.changes.note(address, state);
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
