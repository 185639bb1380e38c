//! One connection, from subscribing to the error that ends it.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::{sleep, timeout};

use super::{
    apply::{Item, counts},
    changes::State,
    error::SyncError,
    parts::{Delivered, Parts, lock},
};
use crate::source::{Change, Event, Events, SourceError};

/// Events that are applied in one step at most.
const MAX_EVENTS: usize = 1_000;
/// A step waits this long for more events, unless it is full. A call changes several accounts several times, so one
/// transaction writes what would be many. It also writes after the gateway, which learns of a change at the same moment
/// and whose callers would wait for the locks of this transaction.
const GATHERING: Duration = Duration::from_millis(200);
/// A source answers or fails by itself. This is for one that does neither.
const SUBSCRIBE_LIMIT: Duration = Duration::from_secs(60);
/// A stream that is silent for so long is given up, even if its source says nothing.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);
/// Slots before the indexed one that a notification of a true slot can still name.
const STALE_AFTER: u64 = 150;

/// What a group of events brought.
#[derive(Default)]
struct Group {
    items: Vec<Item>,
    /// Everything up to this slot was delivered.
    proved: u64,
    changed: bool,
    /// The reason for which the stream ended.
    ended: Option<SourceError>,
}

impl Parts {
    /// Mirrors over one connection.
    pub async fn session(&self) -> SyncError {
        self.caught_up.store(false, Ordering::Relaxed);
        *lock(&self.delivered) = Delivered::default();
        // What happened since the session before is seen by a snapshot alone.
        self.proved().broken();
        // A session that was cut off may have left a write without its end.
        self.changes().write_ended();
        if let Err(error) = self.expect_known_chain().await {
            return error;
        }
        let events = match timeout(SUBSCRIBE_LIMIT, self.source.subscribe()).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return error.into(),
            Err(_) => {
                let (node, what) = (self.source.name(), "a subscription");
                return SourceError::TimedOut { node, what, after: SUBSCRIBE_LIMIT }.into();
            }
        };
        // The subscription went to an endpoint of the chain that the mirror shows, if there is one.
        if let Err(error) = self.check_genesis().await {
            return error;
        }
        self.pulse.connected(true);
        let ended = tokio::select! {
            error = self.stream(events) => error,
            error = self.resyncs() => error,
            error = self.finality() => error,
            error = self.probes() => error,
            error = self.comparisons() => error,
        };
        self.pulse.connected(false);
        ended
    }

    async fn stream(&self, mut events: Events) -> SyncError {
        loop {
            let first = match timeout(SILENCE_LIMIT, events.recv()).await {
                Ok(Some(first)) => first,
                Ok(None) => return SourceError::StreamEnded.into(),
                Err(_) => return SourceError::Silent { node: self.source.name(), after: SILENCE_LIMIT }.into(),
            };
            if events.len() < MAX_EVENTS {
                sleep(GATHERING).await;
            }
            let mut group = Group::default();
            let (mut next, mut taken) = (Some(first), 0_usize);
            while let Some(event) = next {
                match event {
                    Ok(event) => {
                        self.figures.event();
                        self.take(event, &mut group);
                    }
                    Err(error) => group.ended = Some(error),
                }
                taken = taken.saturating_add(1);
                next = if taken < MAX_EVENTS && group.ended.is_none() { events.try_recv().ok() } else { None };
            }
            self.pulse.event();
            self.pulse.full(taken >= MAX_EVENTS && !events.is_empty());
            self.problems.clear(&["silent_stream", "subscription_refused", "stream_missed_changes"]);
            if let Err(error) = self.apply_group(&group).await {
                return error;
            }
            if let Some(error) = group.ended {
                return error.into();
            }
        }
    }

    fn take(&self, event: Event, group: &mut Group) {
        match event {
            Event::Change(change) => {
                group.changed = true;
                self.take_change(change, group);
            }
            Event::Reached(slot) if self.may_have(slot) => group.proved = group.proved.max(slot),
            Event::Reached(_) => {}
            Event::Alive { slot, finalized } => {
                self.may_have(slot);
                self.pulse.chain_slot(slot);
                if let Some(finalized) = finalized {
                    self.pulse.finalized_slot(finalized);
                }
            }
            Event::Dropped(slot) => {
                // What this group has of that slot is noted first.
                self.note(&group.items);
                group.items.retain(|item| item.slot != slot);
                self.changes().drop_slot(slot);
                self.look_now.notify_one();
            }
        }
    }

    fn take_change(&self, Change { address, slot, data }: Change, group: &mut Group) {
        if self.pulse.heard().may_have(slot) {
            let mut delivered = lock(&self.delivered);
            delivered.add(slot, address);
            delivered.stale_slots |= slot.saturating_add(STALE_AFTER) < self.indexed();
        }
        if !self.may_have(slot) {
            // The account changed, and a read tells when.
            self.changes().suspect([address]);
            self.look_now.notify_one();
            return;
        }
        match data.filter(|data| counts(data)) {
            Some(data) => group.items.push(Item { address, slot, data, exact: true }),
            None => {
                // A read decides whether it is gone, and since when.
                let mut changes = self.changes();
                changes.note(address, State { exact: true, ..State::gone(slot) });
                changes.suspect([address]);
                self.look_now.notify_one();
            }
        }
    }

    fn note(&self, items: &[Item]) {
        let mut changes = self.changes();
        for item in items {
            changes.note(item.address, item.state());
        }
    }

    async fn apply_group(&self, group: &Group) -> Result<(), SyncError> {
        // Before the first snapshot of this connection, earlier changes are missing.
        let proved = if self.caught_up.load(Ordering::Relaxed) { group.proved } else { 0 };
        let moves = if proved > self.indexed() { proved } else { 0 };
        if group.changed {
            self.note(&group.items);
            self.pulse.change();
        }
        if !group.items.is_empty() {
            self.changes().write_begins(group.items.iter().map(|item| item.address));
            let applied = self.apply_changes(&group.items, moves).await;
            self.changes().write_ended();
            applied?;
            self.listings_changed.notify_one();
        } else if moves > 0 {
            crtx_store::mirror::move_to(&self.pool, moves).await?;
        }
        self.indexed.fetch_max(moves, Ordering::Relaxed);
        let mut spans = self.proved();
        if let Some(base) = spans.base().filter(|base| *base < proved) {
            spans.through(base, proved);
        }
        Ok(())
    }
}
