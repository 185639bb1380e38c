//! What every stream does: it hands its events on to a reader, and notices that nothing arrives.

use std::time::Duration;

use tokio::{
    sync::mpsc::{self, Sender, error::SendTimeoutError},
    time::{Interval, MissedTickBehavior, interval},
};

use super::{Events, SourceEvent, deadlines::Deadlines, endpoint::Rest, error::SourceError};

/// Events that wait for their reader. Then the node waits.
const EVENTS_WAITING: usize = 1_024;
/// Ticks within the time of silence.
const TICKS_PER_SILENCE: u32 = 5;

/// Where a stream puts its events, and what it heard last.
///
/// Time is counted in ticks of the stream's own task. So time in which that task waits for its reader, or for the
/// machine, is not the node's silence.
pub(super) struct EventSender {
    events: Sender<Result<SourceEvent, SourceError>>,
    /// Host and port.
    pub node: String,
    pub deadlines: Deadlines,
    ticks: Interval,
    /// Ticks since the node sent something.
    pub heard: u32,
    /// Ticks since the newest slot moved.
    pub moved: u32,
    /// The newest slot.
    pub slot: u64,
}

impl EventSender {
    pub(super) fn new(node: String, deadlines: Deadlines) -> (Self, Events) {
        let (events, reader) = mpsc::channel(EVENTS_WAITING);
        let tick = deadlines.silence.checked_div(TICKS_PER_SILENCE).unwrap_or_default();
        let mut ticks = interval(tick.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        (Self { events, node, deadlines, ticks, heard: 0, moved: 0, slot: 0 }, reader)
    }

    /// Hands an event on. Waits while the channel is full.
    pub(super) async fn send(&self, event: SourceEvent) -> Result<(), SourceError> {
        let after = self.deadlines.reader;
        self.events.send_timeout(Ok(event), after).await.map_err(|error| match error {
            SendTimeoutError::Closed(_) => SourceError::StreamEnded,
            SendTimeoutError::Timeout(_) => SourceError::ReaderTooSlow { node: self.node.clone(), after },
        })
    }

    /// Hands an event on if there is room. For events that the next one of their kind replaces.
    pub(super) fn tell(&self, event: SourceEvent) {
        drop(self.events.try_send(Ok(event)));
    }

    /// Says why the stream ended, unless its reader left.
    pub(super) async fn end(&self, reason: SourceError, rest: &Rest) {
        if !self.events.is_closed() {
            rest.failed(None);
            drop(self.events.send(Err(reason)).await);
        }
    }

    /// Waits for the next tick, or until nobody reads the events, which is an error.
    pub(super) async fn tick(&mut self) -> Result<(), SourceError> {
        tokio::select! {
            biased;
            () = self.events.closed() => return Err(SourceError::StreamEnded),
            _ = self.ticks.tick() => {}
        }
        self.heard = self.heard.saturating_add(1);
        self.moved = self.moved.saturating_add(1);
        Ok(())
    }

    pub(super) fn pause(&self) -> Duration {
        self.ticks.period()
    }

    /// Whether so many ticks are longer than a limit. The first of them may have come at once.
    pub(super) fn are_longer(&self, ticks: u32, limit: Duration) -> bool {
        self.pause().saturating_mul(ticks) > limit
    }

    /// The error of a node that sends nothing, if it is `expected` to, or whose slot stands still.
    pub(super) fn check(&self, expected: bool) -> Result<(), SourceError> {
        let Deadlines { silence, still, .. } = self.deadlines;
        let node = || self.node.clone();
        if expected && self.are_longer(self.heard, silence) {
            return Err(SourceError::Silent { node: node(), after: silence });
        }
        if self.are_longer(self.moved, still) {
            return Err(SourceError::StandsStill { node: node(), slot: self.slot, after: still });
        }
        Ok(())
    }
}
