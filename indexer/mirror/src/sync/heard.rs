//! Signs of life of the source, and how far the chain can be by them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

/// Without an event for so long, the stream does not count as streaming.
const SILENCE: Duration = Duration::from_secs(12);
/// A slot that stays the same for so long stands still.
const STANDSTILL: Duration = Duration::from_secs(15);
/// How far a slot may be from the newest known one, and how many slots a chain makes in a second at most, to be believed
/// without a second answer.
const LEAP: u64 = 600;
const SLOTS_PER_SECOND: u64 = 10;
/// A node that lags this far behind the newest known slot is of no use.
pub const LONG_AGO: u64 = 5_000;
/// For so long after events had to wait, the stream still counts as late.
const LATE: Duration = Duration::from_secs(2);

/// What was heard, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    /// When the stream was heard; `None`: no subscription exists.
    pub event: Option<Instant>,
    pub event_at: Option<DateTime<Utc>>,
    /// The stream has more events than are applied in one step.
    pub full: bool,
    /// When it last had more.
    pub full_at: Option<Instant>,
    pub change_at: Option<DateTime<Utc>>,
    pub chain_slot: Option<u64>,
    pub chain_slot_since: Option<Instant>,
    pub finalized_slot: Option<u64>,
}

impl Heard {
    pub fn streaming(&self) -> bool {
        self.event.is_some_and(|event| event.elapsed() < SILENCE)
    }

    /// Whether events that the node sent wait to be applied.
    pub fn late(&self) -> bool {
        self.event.is_some() && (self.full || self.full_at.is_some_and(|at| at.elapsed() < LATE))
    }

    /// Whether the chain can have reached a slot. Before any is known, every slot can be.
    pub fn may_have(&self, slot: u64) -> bool {
        let Some(known) = self.chain_slot else { return true };
        let passed = self.chain_slot_since.map_or(0, |since| since.elapsed().as_secs().saturating_add(1));
        slot <= known.saturating_add(LEAP).saturating_add(passed.saturating_mul(SLOTS_PER_SECOND))
    }

    /// For how long the chain has had its newest slot, if that is too long.
    pub fn standing_for(&self) -> Option<Duration> {
        let time = self.chain_slot_since?.elapsed();
        (time >= STANDSTILL).then_some(time)
    }

    pub fn connected(&mut self, connected: bool) {
        self.full = false;
        self.event = connected.then(Instant::now);
    }

    /// Events came. `full`: more wait after a step that took as many as it may.
    pub fn events(&mut self, full: bool) {
        self.event = Some(Instant::now());
        self.event_at = Some(Utc::now());
        if full || self.full {
            self.full_at = Some(Instant::now());
        }
        self.full = full;
    }

    /// A newer slot of the chain. One that is too far ahead is left out.
    pub fn chain_slot(&mut self, slot: u64) {
        if self.may_have(slot) && self.chain_slot.is_none_or(|known| known < slot) {
            self.chain_slot = Some(slot);
            self.chain_slot_since = Some(Instant::now());
        }
    }

    /// Two answers agree that the chain is at this slot, however far it is from what was heard before.
    pub fn chain_is_at(&mut self, slot: u64) {
        self.chain_slot = Some(slot);
        self.chain_slot_since = Some(Instant::now());
        self.finalized_slot = self.finalized_slot.filter(|finalized| *finalized <= slot);
    }

    /// Another chain begins with other slots.
    pub fn forget_slots(&mut self) {
        self.chain_slot = None;
        self.chain_slot_since = None;
        self.finalized_slot = None;
    }

    pub fn finalized_slot(&mut self, slot: u64) {
        if self.chain_slot.is_some() && self.may_have(slot) {
            self.finalized_slot = self.finalized_slot.max(Some(slot));
        }
    }
}

/// Whether a slot is too far before another one for both to be answers of the same moment.
pub const fn is_far(slot: u64, later: u64) -> bool {
    slot.saturating_add(LEAP) < later
}

/// Whether a slot is so far before another one that only one of them can be true.
pub const fn is_long_before(slot: u64, later: u64) -> bool {
    slot.saturating_add(LONG_AGO) < later
}
