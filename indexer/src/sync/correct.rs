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
    closing::READ_AT_ONCE,
    error::SyncError,
    guard,
    parts::Parts,
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
        let read = self.read_doubted(self.source.as_ref(), addresses, At::Confirmed, from).await?;
        let agreed = self.agreed(addresses, &read, from).await;
        let shown = mirror::shown(&self.pool, &agreed).await?;
        let found: HashMap<Pubkey, Option<Vec<u8>>> = addresses
            .iter()
            .zip(read.accounts)
            .filter(|(address, _)| agreed.contains(address))
            .map(|(address, account)| (*address, account.map(|account| account.data)))
            .collect();
        let vanishing = found.iter().filter(|(address, data)| data.is_none() && is_open(&shown, address)).count();
        if vanishing > 0 && !self.may_vanish(&found, vanishing, read.slot).await? {
            self.changes().cleared(addresses);
            return Ok(());
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
    async fn agreed(&self, addresses: &[Pubkey], read: &Read, from: u64) -> Vec<Pubkey> {
        let Some(witness) = self.source.witness() else { return addresses.to_vec() };
        let Ok(other) = self.read_doubted(witness.as_ref(), addresses, At::Confirmed, from).await else {
            return addresses.to_vec();
        };
        let same = addresses.iter().zip(read.accounts.iter().zip(&other.accounts));
        same.filter(|(_, (one, other))| one == other).map(|(address, _)| *address).collect()
    }

    /// Whether so many accounts may vanish: a second read does not find them either, and they are no mass.
    async fn may_vanish(
        &self,
        found: &HashMap<Pubkey, Option<Vec<u8>>>,
        vanishing: usize,
        slot: u64,
    ) -> Result<bool, SyncError> {
        let vanishing = u64::try_from(vanishing).unwrap_or(u64::MAX);
        if !guard::needs_second_look(vanishing, 0) || self.settings.accept_mass_closing {
            return Ok(true);
        }
        sleep(self.settings.second_look_after).await;
        let gone: Vec<Pubkey> = found.iter().filter(|(_, data)| data.is_none()).map(|(address, _)| *address).collect();
        let again = self.read_doubted(self.source.as_ref(), &gone, At::Confirmed, slot).await?;
        if again.accounts.iter().any(Option::is_some) {
            return Err(SyncError::Doubtful(format!(
                "the node at {} finds accounts that it did not find a moment ago",
                self.source.name()
            )));
        }
        let open = mirror::open_accounts(&self.pool).await?;
        if guard::is_held(vanishing, open) {
            let message = guard::held_message(&self.source.name(), vanishing, open, "the program");
            self.problems.set("mass_closing_held", message);
            return Ok(false);
        }
        Ok(true)
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
