//! What one process knows of the chain that it mirrors. It is behind one lock, which nobody holds while waiting.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use solana_pubkey::Pubkey;
use tokio::time::Instant;

use super::{changes::Changes, heard::Heard};

/// Accounts whose changes are expected after a read.
const MAX_EXPECTED: usize = 1_000;
/// Changes that are remembered. What is forgotten is read.
const MAX_CHANGES: usize = 100_000;
/// Spans that are remembered. The digest needs those since its last move.
const MAX_SPANS: usize = 4_096;
/// Accounts that are compared one by one. If more differ, these show it as well.
const MAX_DOUBTS: usize = 10_000;

#[derive(Debug, Default)]
pub struct Known {
    pub heard: Heard,
    pub changes: Changes,
    pub proved: Proved,
    pub delivered: DeliveredChanges,
    /// Accounts that two nodes may show differently, and whether they did at the last comparison.
    pub doubts: BTreeMap<Pubkey, bool>,
    /// Why the second node cannot be compared.
    pub second_unusable: Option<String>,
    /// The oldest slot that the source sends again after a break.
    pub replays_from: Option<u64>,
    /// The slot up to which every change was delivered and applied.
    pub indexed: u64,
    /// A snapshot of this connection was applied, so that what the stream delivers is all that is missing.
    pub caught_up: bool,
    /// The finalized accounts were read as a whole since this process leads.
    pub filled: bool,
    /// The digest cannot show an earlier slot: accounts were read at this one.
    pub filled_at: u64,
    /// A snapshot was applied since closed rows of accounts that were never final were looked at.
    pub unproved_due: bool,
    /// The snapshot that is taken was asked for: the stream should bring what it adds.
    pub asked: bool,
    /// The stored slots were compared with the chain's.
    pub slots_checked: bool,
    /// Since when the chain is seen long before the slot that was believed or is stored.
    pub behind_since: Option<Instant>,
    /// An account that exists. A read that does not find it is not believed.
    pub witnessed: Option<Pubkey>,
}

impl Known {
    pub fn reached(&mut self, slot: u64) {
        self.indexed = self.indexed.max(slot);
    }

    /// This process begins to lead. Another one may have led: nothing is proved, and what is final has to be read again.
    pub fn begin_to_lead(&mut self) {
        self.filled = false;
        self.slots_checked = false;
        self.proved = Proved::default();
        self.changes = Changes::default();
    }

    /// A connection begins. Only a snapshot shows what happened since the one before.
    pub fn begin_session(&mut self) {
        self.caught_up = false;
        self.delivered = DeliveredChanges::default();
        self.proved.broken();
        // A session that was cut off may have left a write without its end.
        self.changes.writing.clear();
    }

    /// What is known of later slots is wrong.
    pub fn go_back_to(&mut self, slot: u64) {
        self.indexed = slot;
        self.filled_at = 0;
        self.filled = false;
        self.proved = Proved::default();
        self.changes.forget();
    }

    /// The mirror was emptied for another chain.
    pub fn forget_chain(&mut self) {
        self.go_back_to(0);
        self.heard.forget_slots();
        self.doubts.clear();
        self.delivered = DeliveredChanges::default();
        self.witnessed = None;
    }

    /// Two nodes may show these accounts differently.
    pub fn doubt(&mut self, addresses: impl IntoIterator<Item = Pubkey>) {
        for address in addresses {
            if self.doubts.len() < MAX_DOUBTS {
                self.doubts.entry(address).or_default();
            }
        }
    }

    /// Whether the stream told the closing of an account.
    pub fn told_gone(&self, address: &Pubkey) -> bool {
        self.changes.newest(address).is_some_and(|state| state.exact && state.data_hash.is_none())
    }
}

/// The newest changes that the stream delivered: their slots and accounts.
#[derive(Debug, Default)]
pub struct DeliveredChanges {
    changes: BTreeSet<(u64, Pubkey)>,
    /// Accounts that a read showed in a new state: when, and the slot after which they changed.
    read: Vec<(Instant, Pubkey, u64)>,
    /// The node's notifications carry slots that are older than what they tell.
    pub stale_slots: bool,
}

impl DeliveredChanges {
    pub fn add(&mut self, slot: u64, address: Pubkey) {
        self.changes.insert((slot, address));
        if self.changes.len() > MAX_CHANGES {
            self.changes.pop_first();
        }
    }

    pub fn has(&self, slot: u64, address: &Pubkey) -> bool {
        self.changes.contains(&(slot, *address))
    }

    /// Whether a change in that slot was delivered.
    pub fn has_slot(&self, slot: u64) -> bool {
        self.from(slot).next().is_some_and(|(changed, _)| *changed == slot)
    }

    /// Whether the account changed after that slot.
    pub fn has_later(&self, slot: u64, address: &Pubkey) -> bool {
        self.from(slot.saturating_add(1)).any(|(_, changed)| changed == address)
    }

    fn from(&self, slot: u64) -> impl Iterator<Item = &(u64, Pubkey)> {
        self.changes.range((slot, Pubkey::default())..)
    }

    /// The stream should bring the change that this read showed.
    pub fn expect(&mut self, address: Pubkey, since: u64) {
        if self.read.len() < MAX_EXPECTED {
            self.read.push((Instant::now(), address, since));
        }
    }

    /// Whether the stream did not bring a change so long after a read had shown it.
    pub fn missed(&mut self, after: Duration) -> bool {
        let read = std::mem::take(&mut self.read);
        let (due, waiting): (Vec<_>, Vec<_>) = read.into_iter().partition(|(at, ..)| at.elapsed() >= after);
        self.read = waiting;
        due.iter().any(|(_, address, since)| !self.has_later(*since, address)) && !self.stale_slots
    }
}

/// At which slots the mirror is known to have had every change, and no other, as spans without a gap. A digest is stated
/// for these slots alone.
#[derive(Debug, Default)]
pub struct Proved {
    /// The first and the last slot of each span. Each change within a span was delivered with its slot.
    spans: BTreeMap<u64, u64>,
    /// What follows this slot can be proved change by change. `None`: changes may be lost that nobody looks for.
    pub base: Option<u64>,
}

impl Proved {
    /// A whole snapshot was applied: it shows this slot, and nothing of how the slots before came to it.
    pub fn at(&mut self, slot: u64) {
        self.base.get_or_insert(slot);
        if self.span_of(slot).is_none() {
            self.spans.insert(slot, slot);
            while self.spans.len() > MAX_SPANS {
                self.spans.pop_first();
            }
        }
    }

    /// Each change after `from` up to `to` was delivered with its slot. Says nothing unless `from` is proved.
    pub fn through(&mut self, from: u64, to: u64) {
        let Some((first, last)) = self.span_of(from) else { return };
        let mut last = to.max(last);
        let within: Vec<u64> = self.spans.range(first..=last).map(|(first, _)| *first).collect();
        for begin in within {
            last = self.spans.remove(&begin).map_or(last, |end| end.max(last));
        }
        self.spans.insert(first, last);
        self.base = self.base.map(|base| base.max(to));
    }

    /// Changes may be lost that nobody looks for: the next snapshot begins a new span.
    pub fn broken(&mut self) {
        self.base = None;
    }

    /// The newest proved slot up to `slot`, with the first slot of its span.
    pub fn up_to(&self, slot: u64) -> Option<(u64, u64)> {
        self.spans.range(..=slot).next_back().map(|(first, last)| (*first, slot.min(*last)))
    }

    /// The newest proved slot.
    pub fn newest(&self) -> Option<u64> {
        self.spans.last_key_value().map(|(_, last)| *last)
    }

    fn span_of(&self, slot: u64) -> Option<(u64, u64)> {
        let (first, last) = self.spans.range(..=slot).next_back()?;
        (*last >= slot).then_some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_proves_its_slot_and_a_stream_the_slots_after_it() {
        let mut proved = Proved::default();
        assert_eq!(proved.up_to(u64::MAX), None);
        proved.through(5, 9);
        assert_eq!(proved.up_to(u64::MAX), None, "nothing is proved that it could follow");
        proved.at(10);
        proved.through(10, 20);
        proved.at(30);
        assert_eq!(
            [9, 10, 15, 25, 35].map(|slot| proved.up_to(slot)),
            [None, Some((10, 10)), Some((10, 15)), Some((10, 20)), Some((30, 30))]
        );
        assert_eq!(proved.base, Some(20));
        proved.through(20, 40);
        assert_eq!(proved.up_to(35), Some((10, 35)), "the changes around the snapshot were delivered as well");
    }

    #[test]
    fn a_snapshot_after_a_gap_begins_a_span_of_its_own() {
        let mut proved = Proved::default();
        proved.at(10);
        proved.broken();
        assert_eq!(proved.base, None);
        proved.at(30);
        assert_eq!((proved.base, proved.newest()), (Some(30), Some(30)));
        proved.through(30, 31);
        assert_eq!(proved.up_to(50), Some((30, 31)));
        assert_eq!(proved.up_to(29), Some((10, 10)));
    }
}
