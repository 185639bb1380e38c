//! Rows that may be wrong are read again, and made equal to the chain, also if that goes back.

use std::collections::{HashMap, HashSet};

use crtx_store::{
    StoreError,
    mirror::{self, Corrected, ShownAccount},
};
use solana_pubkey::Pubkey;
use tokio::time::sleep;

use super::{
    changes::AccountState,
    closing::{count, needs_second_look},
    look::{Looked, READ_AT_ONCE},
    syncer::{SyncError, Syncer},
    writer::{Item, batch_of},
};
use crate::source::At;

/// Accounts that are read again in one round.
const PER_ROUND: usize = 20 * READ_AT_ONCE;

impl Syncer {
    /// Reads suspected accounts again and corrects their rows.
    pub(super) async fn recheck_rows(&self) -> Result<(), SyncError> {
        let rows_to_recheck = self.known().changes.next_to_recheck(PER_ROUND);
        for addresses in rows_to_recheck.chunks(READ_AT_ONCE) {
            self.look_at(addresses).await?;
        }
        Ok(())
    }

    async fn look_at(&self, addresses: &[Pubkey]) -> Result<(), SyncError> {
        let mut looked = self.look(addresses, At::Confirmed, self.not_before(addresses)).await?;
        let agreed: HashSet<Pubkey> = looked.there.keys().chain(&looked.gone).copied().collect();
        let held = self.may_not_vanish(&looked.gone, looked.slot).await?;
        looked.gone.retain(|address| !held.contains(address));
        self.correct(looked).await?;
        self.known().changes.rows_to_recheck.retain(|address| !agreed.contains(address));
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

    /// Of accounts that are gone, those whose rows may not vanish: too many have no proof of their closing. Before more
    /// than a few vanish, a second read must not find them either.
    async fn may_not_vanish(&self, gone: &[Pubkey], slot: u64) -> Result<Vec<Pubkey>, SyncError> {
        let mut vanishing: Vec<Pubkey> =
            mirror::still_open(&self.pool, gone).await?.into_iter().map(|row| row.address).collect();
        vanishing.retain(|address| !self.known().told_gone(address));
        if !needs_second_look(count(&vanishing), 0) || self.settings.accept_mass_closing {
            return Ok(Vec::new());
        }
        sleep(self.settings.second_look_after).await;
        let again = self.read_doubted(self.source.as_ref(), &vanishing, At::Confirmed, slot).await?;
        if again.value.iter().any(Option::is_some) {
            return Err(self.doubtful("finds accounts that it did not find a moment ago"));
        }
        let open = mirror::open_accounts(&self.pool).await?;
        if self.is_held(count(&vanishing), open) {
            self.take_proved(&mut vanishing).await?;
        }
        if !self.is_held(count(&vanishing), open) {
            return Ok(Vec::new());
        }
        self.tell_held(count(&vanishing), open, "the program");
        Ok(vanishing)
    }

    async fn correct(&self, Looked { slot, there, gone, .. }: Looked) -> Result<(), SyncError> {
        let items: Vec<Item> = there.into_iter().map(|(address, data)| Item::read(address, slot, data)).collect();
        let corrected = self.correct_rows(&items, &gone, slot).await?;
        let is_written = corrected != Corrected::default();
        if is_written {
            tracing::info!(slot, ?corrected, "the mirror took back what the chain does not have");
            self.listings_changed.notify_one();
        }
        let mut known = self.known();
        let states = items.iter().map(|item| (item.address, item.state));
        for (address, state) in states.chain(gone.into_iter().map(|address| (address, AccountState::gone(slot)))) {
            if is_written || known.changes.newest(&address).is_none_or(|newest| newest.data_hash != state.data_hash) {
                known.changes.note(address, state);
            }
        }
        Ok(())
    }

    async fn correct_rows(&self, items: &[Item], gone: &[Pubkey], slot: u64) -> Result<Corrected, StoreError> {
        match mirror::correct(&self.pool, &batch_of(items)?, gone, slot).await {
            Err(error) if error.refuses_a_row() => {
                let mut replaced = 0_u64;
                for item in items {
                    let one = std::slice::from_ref(item);
                    match mirror::correct(&self.pool, &batch_of(one)?, &[], slot).await {
                        Err(error) if error.refuses_a_row() => self.apply_changes(one, 0).await?,
                        corrected => replaced = replaced.saturating_add(corrected?.replaced),
                    }
                }
                let of_gone = mirror::correct(&self.pool, &mirror::Batch::default(), gone, slot).await?;
                Ok(Corrected { replaced, ..of_gone })
            }
            corrected => corrected,
        }
    }
}

/// Whether the mirror shows a state: its row is open and has these bytes, or there is no open row.
pub fn shows(shown: &HashMap<Pubkey, Vec<ShownAccount>>, address: &Pubkey, data: Option<[u8; 32]>) -> bool {
    let mut open = shown.get(address).into_iter().flatten().filter(|row| row.open).peekable();
    match data {
        None => open.peek().is_none(),
        Some(hash) => open.any(|row| row.data_hash == Some(hash)),
    }
}
