//! The slots of the scripted chain, and the time that two processes agree on.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const SLOT: Duration = Duration::from_millis(400);
const FIRST_SLOT: u64 = 1_000_000;
/// Slots from confirmed to finalized.
const TO_FINALIZED: u64 = 32;

pub struct Slots {
    started: Instant,
}

impl Slots {
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }

    pub fn confirmed(&self) -> u64 {
        FIRST_SLOT + (self.started.elapsed().as_millis() / SLOT.as_millis()) as u64
    }

    pub fn finalized(&self) -> u64 {
        self.confirmed() - TO_FINALIZED
    }

    /// The time from confirmed to finalized.
    pub fn to_finalized() -> Duration {
        SLOT.mul_f64(TO_FINALIZED as f64)
    }

    pub const fn length() -> Duration {
        SLOT
    }
}

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
