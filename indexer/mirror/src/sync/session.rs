//! One connection, from subscribing to the error that ends it.

use std::{convert::Infallible, sync::atomic::Ordering::Relaxed};

use chrono::Utc;
use crtx_store::mirror;
use tokio::time::sleep;

use super::{
    changes::AccountState,
    finality::Finality,
    probe::Probe,
    syncer::{SyncError, Syncer},
    writer::Item,
};
use crate::source::{Change, Events, SourceError, SourceEvent, has_kind};

/// Events that are applied in one step at most, with the one that began it.
const MAX_EVENTS: usize = 1_000;
/// Slots before the indexed one that a notification of a true slot can still name.
const STALE_AFTER: u64 = 150;

/// What a group of events brought.
#[derive(Default)]
struct Group {
    items: Vec<Item>,
    /// Everything up to this slot was delivered.
    proved: u64,
    /// The reason for which the stream ended.
    ended: Option<SourceError>,
}

impl Syncer {
    /// Mirrors over one connection.
    pub(super) async fn session(&self) -> Result<Infallible, SyncError> {
        self.known().begin_session();
        self.expect_known_chain().await?;
        let events = self.source.subscribe().await?;
        // The subscription went to an endpoint of the chain that the mirror shows, if there is one.
        self.check_genesis().await?;
        self.known().heard.connected(true);
        let ended = tokio::select! {
            ended = self.stream(events) => ended,
            () = self.source.better() => Err(SourceError::Replaced { node: self.source.name() }.into()),
            error = self.resyncs() => Err(error),
            error = Finality::new(self).run() => Err(error),
            error = Probe::new(self).run() => Err(error),
            error = self.comparisons() => Err(error),
        };
        self.known().heard.connected(false);
        ended
    }

    async fn stream(&self, mut events: Events) -> Result<Infallible, SyncError> {
        loop {
            // The source ends a stream that is silent.
            let first = events.recv().await.ok_or(SourceError::StreamEnded)?;
            // Even a pause of zero length lets other loops run before the mirror knows the event.
            if events.len() < MAX_EVENTS && !self.settings.gathering.is_zero() {
                sleep(self.settings.gathering).await;
            }
            let mut received = vec![first];
            let waiting = events.len().min(MAX_EVENTS);
            let more = events.recv_many(&mut received, waiting).await;
            let mut group = Group::default();
            for event in received {
                match event {
                    Ok(event) => {
                        self.figures.events.fetch_add(1, Relaxed);
                        self.take(event, &mut group);
                    }
                    Err(error) => group.ended = Some(error),
                }
            }
            self.known().heard.events(more >= MAX_EVENTS && !events.is_empty());
            self.problems.clear(&["silent_stream", "subscription_refused", "stream_missed_changes"]);
            self.apply_group(&group).await?;
            group.ended.map_or(Ok(()), Err)?;
        }
    }

    fn take(&self, event: SourceEvent, group: &mut Group) {
        match event {
            SourceEvent::Change(change) => {
                self.known().heard.change_at = Some(Utc::now());
                self.take_change(change, group);
            }
            SourceEvent::Reached(slot) if self.may_have(slot) => group.proved = group.proved.max(slot),
            SourceEvent::Alive(slot) if self.may_have(slot) => self.known().heard.chain_slot(slot),
            SourceEvent::Reached(_) | SourceEvent::Alive(_) => {}
            SourceEvent::Dropped(slot) => {
                // What this group has of that slot is noted first.
                self.note(&group.items);
                group.items.retain(|item| item.state.slot != slot);
                self.known().changes.drop_slot(slot);
                self.look_now.notify_one();
            }
        }
    }

    fn take_change(&self, Change { address, slot, data }: Change, group: &mut Group) {
        if !self.may_have(slot) {
            // The account changed, and a read tells when.
            self.known().changes.recheck([address]);
            self.look_now.notify_one();
            return;
        }
        let mut known = self.known();
        known.delivered.add(slot, address);
        known.delivered.stale_slots |= slot.saturating_add(STALE_AFTER) < known.indexed;
        match data.filter(|data| has_kind(data)) {
            Some(data) => group.items.push(Item::new(address, slot, data, true)),
            None => {
                // A read decides whether it is gone, and since when.
                known.changes.note(address, AccountState { exact: true, ..AccountState::gone(slot) });
                known.changes.recheck([address]);
                self.look_now.notify_one();
            }
        }
    }

    fn note(&self, items: &[Item]) {
        let mut known = self.known();
        items.iter().for_each(|item| known.changes.note(item.address, item.state));
    }

    async fn apply_group(&self, group: &Group) -> Result<(), SyncError> {
        let (proved, moves) = {
            let known = self.known();
            // Before the first snapshot of this connection, earlier changes are missing.
            let proved = if known.caught_up { group.proved } else { 0 };
            (proved, if proved > known.indexed { proved } else { 0 })
        };
        self.note(&group.items);
        if !group.items.is_empty() {
            self.known().changes.writing.extend(group.items.iter().map(|item| item.address));
            let applied = self.apply_changes(&group.items, moves).await;
            self.known().changes.writing.clear();
            applied?;
            self.listings_changed.notify_one();
        } else if moves > 0 {
            mirror::move_to(&self.pool, moves).await?;
        }
        let mut known = self.known();
        known.reached(moves);
        if let Some(base) = known.proved.base.filter(|base| *base < proved) {
            known.proved.through(base, proved);
        }
        Ok(())
    }
}
