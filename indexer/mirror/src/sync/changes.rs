//! Changes that are not final yet, in memory: which states of which accounts were delivered, and at which slots. If
//! there are too many, it forgets all of them, and the mirror reads the finalized accounts as a whole.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Bound,
};

use crtx_store::mirror::{DigestMove, FinalHashes};
use solana_pubkey::Pubkey;

/// Accounts with changes that are not final: those of half a minute with thousands of changes per second.
const MAX_ACCOUNTS: usize = 200_000;
/// States of one account that are not final.
const MAX_STATES: usize = 64;

/// A state of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountState {
    pub slot: u64,
    pub revision: u64,
    /// `None`: the account is gone.
    pub data_hash: Option<[u8; 32]>,
    /// The account changed in this slot. Otherwise it was read at this slot, and changed in it or before.
    pub exact: bool,
    /// A read of the finalized state confirmed it.
    pub confirmed: bool,
    /// If it is not exact: the account was known up to this slot, and changed after it.
    pub since: u64,
}

impl AccountState {
    /// The account was not there at this slot.
    pub const fn gone(slot: u64) -> Self {
        Self { slot, revision: 0, data_hash: None, exact: false, confirmed: false, since: 0 }
    }

    /// A state that was read. Every account was known at the slot `proved`, if there is one before the read.
    pub fn known_until(self, proved: Option<u64>) -> Self {
        let since = proved.filter(|proved| *proved < self.slot && !self.exact).unwrap_or_default();
        Self { since, ..self }
    }
}

/// What a read of the finalized state says about what was delivered of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmed {
    /// Another state was delivered last.
    pub differs: bool,
    /// What the account was before this slot is not known.
    pub not_before: u64,
}

#[derive(Debug, Default)]
pub struct Changes {
    states: HashMap<Pubkey, Vec<AccountState>>,
    /// Accounts whose row may be wrong. They are read again.
    pub rows_to_recheck: BTreeSet<Pubkey>,
    /// The last one that was read again. The next round begins after it, so that none has to wait for others.
    rechecked_last: Pubkey,
    /// Accounts whose rows the stream is writing: they do not show the noted states yet.
    pub writing: HashSet<Pubkey>,
    /// States were forgotten, or never known.
    pub overflowed: bool,
}

impl Changes {
    /// Adds a state that was delivered or read.
    pub fn note(&mut self, address: Pubkey, state: AccountState) {
        if self.overflowed {
            return;
        }
        if self.states.len() >= MAX_ACCOUNTS && !self.states.contains_key(&address) {
            tracing::info!("too many changes are not final: the finalized accounts are read as a whole");
            return self.forget();
        }
        let states = self.states.entry(address).or_default();
        if !state.exact {
            // A read wrote the row, perhaps later than a newer one was confirmed: the row is compared again.
            states.iter_mut().for_each(|known| known.confirmed = false);
        }
        if let Some(same) = states.iter_mut().find(|known| known.slot == state.slot) {
            // Of a closing and an opening in one slot nobody knows which came last: a read tells.
            if same.data_hash != state.data_hash && same.revision <= state.revision {
                *same = state;
            }
            return;
        }
        let place = states.partition_point(|known| known.slot < state.slot);
        let (before, after) = states.split_at_mut(place);
        // The stream has brought this state, and only its change says when the account changed.
        if !state.exact && before.last().is_some_and(|known| known.data_hash == state.data_hash) {
            return;
        }
        if let Some(read) = after.first_mut()
            && state.exact
            && !read.exact
            && (read.data_hash, read.revision) == (state.data_hash, state.revision)
        {
            *read = state;
            return;
        }
        states.insert(place, state);
        if states.len() > MAX_STATES {
            states.remove(0);
            if let Some(first) = states.first_mut() {
                first.exact = false;
                first.since = 0;
            }
        }
    }

    /// The newest states of those accounts whose rows are not being written.
    pub fn written(&self, addresses: &[Pubkey]) -> HashMap<Pubkey, Option<AccountState>> {
        let written = addresses.iter().filter(|address| !self.writing.contains(address));
        written.map(|address| (*address, self.newest(address))).collect()
    }

    /// Whether the last state that was delivered up to a slot has these bytes.
    pub fn had(&self, address: &Pubkey, slot: u64, data_hash: Option<[u8; 32]>) -> bool {
        let states = self.states.get(address).into_iter().flatten();
        states.take_while(|state| state.slot <= slot).last().is_some_and(|state| state.data_hash == data_hash)
    }

    /// Forgets everything: the finalized accounts are read as a whole.
    pub fn forget(&mut self) {
        *self = Self { overflowed: true, ..Self::default() };
    }

    pub fn is_pending(&self, address: &Pubkey) -> bool {
        self.states.contains_key(address)
    }

    /// Accounts with a change at that slot or before that no read of the finalized state has confirmed. What is confirmed
    /// stays here until the digest moves, and is not read again.
    pub fn due(&self, slot: u64) -> Vec<Pubkey> {
        let is_due = |states: &[AccountState]| states.iter().any(|state| state.slot <= slot && !state.confirmed);
        self.states.iter().filter(|(_, states)| is_due(states)).map(|(address, _)| *address).collect()
    }

    pub fn newest(&self, address: &Pubkey) -> Option<AccountState> {
        self.states.get(address).and_then(|states| states.last().copied())
    }

    /// Compares the finalized state of an account, read at `slot`, with what was delivered up to that slot. What it does
    /// not prove is forgotten, so that only what was final reaches the digest.
    pub fn confirm(&mut self, address: &Pubkey, slot: u64, data_hash: Option<[u8; 32]>) -> Confirmed {
        let Some(states) = self.states.get_mut(address) else { return Confirmed::default() };
        let past = states.partition_point(|state| state.slot <= slot);
        let (delivered, _) = states.split_at_mut(past);
        let last = delivered.last().copied().filter(|state| state.data_hash == data_hash);
        // The true state has the same revision as a state of a dropped fork that came before it; and an account that
        // is gone proves nothing about the states before.
        let in_order = delivered.iter().zip(delivered.iter().skip(1)).all(|(a, b)| a.revision < b.revision);
        if last.is_some() && in_order {
            delivered.iter_mut().for_each(|state| state.confirmed = true);
            return Confirmed::default();
        }
        let true_one = match last {
            Some(state) => AccountState { exact: false, confirmed: true, since: 0, ..state },
            None => AccountState { data_hash, confirmed: true, ..AccountState::gone(slot) },
        };
        states.drain(..past);
        states.insert(0, true_one);
        Confirmed { differs: last.is_none(), not_before: true_one.slot }
    }

    /// What was delivered up to the finalized slot `to`, after the slot `from` that the digest shows. `None` if a part
    /// is not confirmed, because it was delivered a moment ago, or if an account may have changed before `to` or after
    /// it, because a later read showed the change.
    pub fn up_to(&self, to: u64, from: Option<u64>) -> Option<DigestMove> {
        let (mut steps, mut exact): (BTreeMap<u64, FinalHashes>, bool) = (BTreeMap::new(), true);
        for (address, states) in &self.states {
            let (past, later) = states.split_at(states.partition_point(|state| state.slot <= to));
            let may_be_earlier = later.first().is_some_and(|next| !next.exact && next.since < to);
            if may_be_earlier || past.iter().any(|state| !state.confirmed) {
                return None;
            }
            for state in past {
                exact &= state.exact && from.is_some_and(|from| state.slot > from);
                steps.entry(state.slot).or_default().insert(*address, state.data_hash);
            }
        }
        Some(DigestMove { from, to, steps, exact })
    }

    /// The digest shows this slot: what was confirmed up to there is over.
    pub fn settle(&mut self, slot: u64) {
        self.states.retain(|_, states| {
            states.retain(|state| state.slot > slot || !state.confirmed);
            !states.is_empty()
        });
    }

    /// The chain left a slot: its changes never happened.
    pub fn drop_slot(&mut self, slot: u64) {
        let mut dropped = Vec::new();
        for (address, states) in &mut self.states {
            let before = states.len();
            states.retain(|state| state.slot != slot || !state.exact);
            if states.len() != before {
                dropped.push(*address);
            }
        }
        self.states.retain(|_, states| !states.is_empty());
        self.rows_to_recheck.extend(dropped);
    }

    /// False if there are too many.
    pub fn recheck(&mut self, addresses: impl IntoIterator<Item = Pubkey>) -> bool {
        for address in addresses {
            if self.rows_to_recheck.len() >= MAX_ACCOUNTS {
                return false;
            }
            self.rows_to_recheck.insert(address);
        }
        true
    }

    /// The next rows to recheck.
    pub fn next_to_recheck(&mut self, most: usize) -> Vec<Pubkey> {
        let after = (Bound::Excluded(self.rechecked_last), Bound::Unbounded);
        let others = self.rows_to_recheck.range(..=self.rechecked_last);
        let next: Vec<Pubkey> = self.rows_to_recheck.range(after).chain(others).take(most).copied().collect();
        self.rechecked_last = next.last().copied().unwrap_or_default();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Pubkey = Pubkey::new_from_array([1; 32]);

    fn changes_of(states: &[AccountState]) -> Changes {
        let mut changes = Changes::default();
        states.iter().for_each(|state| changes.note(ADDRESS, *state));
        changes
    }

    fn open(slot: u64, revision: u64) -> AccountState {
        AccountState { revision, data_hash: Some([9; 32]), exact: true, ..AccountState::gone(slot) }
    }

    #[test]
    fn a_slot_that_closes_and_opens_an_account_does_not_prove_which_came_last() {
        let closed = AccountState { exact: true, ..AccountState::gone(5) };
        for states in [[open(5, 2), closed], [closed, open(5, 2)]] {
            let confirmed = changes_of(&states).confirm(&ADDRESS, 8, Some([9; 32]));
            assert_eq!(confirmed, Confirmed::default());
            let mut changes = changes_of(&states);
            changes.note(ADDRESS, AccountState::gone(7));
            let confirmed = changes.confirm(&ADDRESS, 8, None);
            assert_eq!(confirmed, Confirmed { differs: false, not_before: 7 }, "no earlier slot is known");
        }
    }

    #[test]
    fn a_row_that_a_read_wrote_is_compared_again_although_its_account_was_confirmed() {
        let closed = AccountState { exact: true, ..AccountState::gone(3) };
        let mut changes = changes_of(&[closed, AccountState { exact: false, ..open(6, 1) }]);
        changes.confirm(&ADDRESS, 8, Some([9; 32]));
        assert!(changes.due(8).is_empty());
        changes.note(ADDRESS, AccountState::gone(5));
        assert_eq!(changes.due(8), [ADDRESS]);
    }
}
