//! The writing end of a stream of events: bounded, with a place that is kept for the reason of its end.

use std::time::Duration;

use tokio::sync::mpsc::{self, OwnedPermit, Sender, error::SendTimeoutError};

use super::{Event, Events, error::SourceError};

/// Events that wait for their reader. Then the node waits.
const EVENTS_WAITING: usize = 1_024;

type Item = Result<Event, SourceError>;

/// Where a stream puts its events.
pub(super) struct Outlet {
    events: Sender<Item>,
    /// The place of the last item.
    last: Option<OwnedPermit<Item>>,
    node: String,
    /// Longest time that a reader may leave the channel full.
    patience: Duration,
}

impl Outlet {
    pub(super) fn new(node: &str, patience: Duration) -> (Self, Events) {
        let (events, reader) = mpsc::channel(EVENTS_WAITING.saturating_add(1));
        let last = events.clone().try_reserve_owned().ok();
        (Self { events, last, node: node.to_owned(), patience }, reader)
    }

    /// Hands an event on. Waits while the channel is full.
    pub(super) async fn send(&self, event: Event) -> Result<(), SourceError> {
        match self.events.send_timeout(Ok(event), self.patience).await {
            Ok(()) => Ok(()),
            Err(SendTimeoutError::Closed(_)) => Err(SourceError::StreamEnded),
            Err(SendTimeoutError::Timeout(_)) => {
                Err(SourceError::ReaderTooSlow { node: self.node.clone(), after: self.patience })
            }
        }
    }

    /// Hands an event on if there is room. For events that the next one of their kind replaces.
    pub(super) fn tell(&self, event: Event) {
        drop(self.events.try_send(Ok(event)));
    }

    /// Waits until nobody reads the events.
    pub(super) async fn reader_left(&self) {
        self.events.closed().await;
    }

    /// Says why the stream ended.
    pub(super) fn end(&mut self, reason: SourceError) {
        if let Some(last) = self.last.take() {
            last.send(Err(reason));
        }
    }
}
