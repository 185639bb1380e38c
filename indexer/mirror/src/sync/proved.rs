//! At which slots the mirror is known to have had every change, and no other. A digest is stated for these slots alone.

use std::collections::BTreeMap;

/// Spans that are remembered. The digest needs those since its last move.
const MAX_SPANS: usize = 4_096;

/// Proved slots, as spans without a gap. Nothing is proved when a process begins to lead.
#[derive(Debug, Default)]
pub struct Proved {
    /// The first and the last slot of each span. Each change within a span was delivered with its slot.
    spans: BTreeMap<u64, u64>,
    /// What follows this slot can be proved change by change. `None`: changes may be lost that nobody looks for.
    base: Option<u64>,
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

    /// The slot after which changes can be proved one by one.
    pub const fn base(&self) -> Option<u64> {
        self.base
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
        assert_eq!(proved.base(), Some(20));
        proved.through(20, 40);
        assert_eq!(proved.up_to(35), Some((10, 35)), "the changes around the snapshot were delivered as well");
    }

    #[test]
    fn a_snapshot_after_a_gap_begins_a_span_of_its_own() {
        let mut proved = Proved::default();
        proved.at(10);
        proved.broken();
        assert_eq!(proved.base(), None);
        proved.at(30);
        assert_eq!((proved.base(), proved.newest()), (Some(30), Some(30)));
        proved.through(30, 31);
        assert_eq!(proved.up_to(50), Some((30, 31)));
        assert_eq!(proved.up_to(29), Some((10, 10)));
    }
}
