//! Signs of life of the source.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

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
/// Further before the newest known slot than a node lags that is of use.
pub const LONG_AGO: u64 = 5_000;
/// For so long after events had to wait, the stream still counts as late.
const LATE: Duration = Duration::from_secs(2);

/// What was heard last.
#[derive(Debug, Default)]
pub struct Pulse(Mutex<Heard>);

/// What was heard, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    /// A subscription exists.
    pub connected: bool,
    pub event: Option<Instant>,
    pub event_at: Option<DateTime<Utc>>,
    /// The stream has more events than are applied in one step.
    pub full: bool,
    /// When it last had.
    pub full_at: Option<Instant>,
    pub change_at: Option<DateTime<Utc>>,
    pub chain_slot: Option<u64>,
    pub chain_slot_since: Option<Instant>,
    pub finalized_slot: Option<u64>,
}

impl Heard {
    pub fn streaming(&self) -> bool {
        self.connected && self.event.is_some_and(|event| event.elapsed() < SILENCE)
    }

    /// Whether events that the node sent wait to be applied.
    pub fn late(&self) -> bool {
        self.connected && (self.full || self.full_at.is_some_and(|at| at.elapsed() < LATE))
    }

    /// For how long the stream has been silent, if that is too long.
    pub fn silent_for(&self) -> Option<Duration> {
        let silence = self.event.filter(|_| self.connected)?.elapsed();
        (silence >= SILENCE).then_some(silence)
    }

    /// Whether the chain can have reached a slot. Before any is known, every slot can be.
    pub fn may_have(&self, slot: u64) -> bool {
        let Some(known) = self.chain_slot else { return true };
        let passed = self.chain_slot_since.map_or(0, |since| since.elapsed().as_secs().saturating_add(1));
        slot <= known.saturating_add(LEAP).saturating_add(passed.saturating_mul(SLOTS_PER_SECOND))
    }

    /// Whether a slot is so far before the newest one that a node with it does not follow this chain now.
    pub fn is_far_behind(&self, slot: u64) -> bool {
        self.chain_slot.is_some_and(|known| is_long_before(slot, known))
    }

    /// For how long the chain has had its newest slot, if that is too long.
    pub fn standing_for(&self) -> Option<Duration> {
        let time = self.chain_slot_since?.elapsed();
        (time >= STANDSTILL).then_some(time)
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

impl Pulse {
    pub fn heard(&self) -> Heard {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub fn connected(&self, connected: bool) {
        self.with(|heard| {
            heard.connected = connected;
            heard.full = false;
            heard.event = connected.then(Instant::now);
        });
    }

    pub fn event(&self) {
        self.with(|heard| {
            heard.event = Some(Instant::now());
            heard.event_at = Some(Utc::now());
        });
    }

    /// Whether events wait after a step that took as many as it may.
    pub fn full(&self, full: bool) {
        self.with(|heard| {
            if full || heard.full {
                heard.full_at = Some(Instant::now());
            }
            heard.full = full;
        });
    }

    pub fn change(&self) {
        self.with(|heard| heard.change_at = Some(Utc::now()));
    }

    /// A newer slot of the chain. One that is too far ahead is left out.
    pub fn chain_slot(&self, slot: u64) {
        self.with(|heard| {
            if heard.may_have(slot) && heard.chain_slot.is_none_or(|known| known < slot) {
                heard.chain_slot = Some(slot);
                heard.chain_slot_since = Some(Instant::now());
            }
        });
    }

    /// Two answers agree that the chain is at this slot, however far it is from what was heard before.
    pub fn chain_is_at(&self, slot: u64) {
        self.with(|heard| {
            heard.chain_slot = Some(slot);
            heard.chain_slot_since = Some(Instant::now());
            heard.finalized_slot = heard.finalized_slot.filter(|finalized| *finalized <= slot);
        });
    }

    /// Another chain begins with other slots.
    pub fn forget_slots(&self) {
        self.with(|heard| {
            heard.chain_slot = None;
            heard.chain_slot_since = None;
            heard.finalized_slot = None;
        });
    }

    pub fn finalized_slot(&self, slot: u64) {
        self.with(|heard| {
            if heard.chain_slot.is_some() && heard.may_have(slot) {
                heard.finalized_slot = heard.finalized_slot.max(Some(slot));
            }
        });
    }
}
