//! Accounts that a snapshot does not have. Nothing is hidden because of one answer: each is read again, a second node, if
//! there is one, confirms it, and a mass of them stays shown until an operator decides.

use crtx_store::mirror::{self, Missing};
use solana_pubkey::Pubkey;
use tokio::time::sleep;

use super::{
    changes::AccountState,
    look::READ_AT_ONCE,
    syncer::{SyncError, Syncer},
};
use crate::{snapshots::AddressSet, source::At};

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

impl Syncer {
    /// Whether so many missing accounts stay shown.
    pub(super) fn is_held(&self, missing: u64, open: u64) -> bool {
        is_mass(missing, open) && !self.settings.accept_mass_closing
    }

    /// Says so, and what the operator can do.
    pub(super) fn tell_held(&self, missing: u64, open: u64, what: &str) -> SyncError {
        let message = format!(
            "the node at {} does not have {missing} of {open} open accounts of {what}: they stay shown. If they are \
             closed indeed, set `indexer.accept_mass_closing = true` until the next snapshot was applied; otherwise use \
             another node",
            self.first_node().name()
        );
        self.problems.set("mass_closing_held", &message);
        SyncError::Doubtful(message)
    }

    /// Hides the accounts that neither the snapshot nor further reads find. False: some of them stay shown, because their
    /// end is not confirmed, so the snapshot does not prove its slot.
    pub(super) async fn find_closed(&self, seen: AddressSet, slot: u64) -> Result<bool, SyncError> {
        let missing = mirror::missing(&self.pool, slot, |address| seen.has(address)).await?;
        drop(seen);
        let (mut proved, mut candidates, mut held, mut many) = (Vec::new(), Vec::new(), false, false);
        for (table, Missing { mut addresses, open }) in missing {
            // A closing that the stream reported is proved by the read that follows.
            proved.extend(addresses.extract_if(.., |address| self.known().told_gone(address)));
            // The configuration is never closed.
            let is_config = table == "mirror_config" && !self.settings.accept_mass_closing;
            let is_held = |left: &[Pubkey]| self.is_held(count(left), open) || is_config && !left.is_empty();
            if is_held(&addresses) {
                proved.extend(self.take_proved(&mut addresses).await?);
            }
            if is_held(&addresses) {
                self.tell_held(count(&addresses), open, &table);
                self.doubt_accounts(addresses);
                held = true;
            } else {
                many |= needs_second_look(count(&addresses), open);
                candidates.extend(addresses);
            }
        }
        if held {
            // The same node told both, so nothing of it is believed but what is proved.
            candidates.clear();
        } else {
            self.problems.clear(&["mass_closing_held"]);
        }
        self.problems.clear(&["closing_unconfirmed"]);
        if many {
            sleep(self.settings.second_look_after).await;
        }
        candidates.extend(proved);
        let mut all_gone = !held;
        for addresses in candidates.chunks(READ_AT_ONCE) {
            all_gone &= self.close_if_gone(addresses, slot).await?;
        }
        Ok(all_gone)
    }

    /// Reads accounts again, and marks those that are gone. False if the nodes contradict each other about one of them.
    async fn close_if_gone(&self, addresses: &[Pubkey], slot: u64) -> Result<bool, SyncError> {
        let looked = self.look(addresses, At::Confirmed, slot).await?;
        let note = || {
            let mut known = self.known();
            let state = AccountState::gone(looked.slot).known_until(known.proved.newest());
            looked.gone.iter().for_each(|address| known.changes.note(*address, state));
        };
        // Before the rows change: if this ends between the two, the finalized state is compared all the same. And after
        // it: the finalized state may have been compared while the rows were still open.
        note();
        if !looked.gone.is_empty() {
            mirror::mark_closed(&self.pool, &looked.gone, looked.slot).await?;
            note();
        }
        Ok(looked.gone.len().saturating_add(looked.there.len()) == addresses.len())
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
