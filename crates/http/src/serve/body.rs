//! Bodies on their way in and out: what their progress means for the connection.
//!
//! A request can be refused before its body has been read. If the connection were closed then, a client that is
//! still sending would get a broken connection instead of the answer. So the rest of such a body is read and
//! discarded, within bounds, while the answer is sent.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{
    bodies::Room,
    connections::{ConnectionState, Waits},
    gate::Deadline,
    limits::{BODY_BYTES_PER_SECOND, ServeLimits},
};
use crate::body::BodyError;

/// Beyond these the connection of a client that sends a discarded body may break.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
const LONGEST: Duration = Duration::from_secs(10);

/// A request's body. Counts what a handler holds of it, limits how long it may take, and is read to its end even if no
/// handler reads it.
pub struct RequestBody {
    /// `None` once it has ended or failed.
    body: Option<Incoming>,
    room: Option<HeldRoom>,
    state: Arc<ConnectionState>,
    /// When all of it has to be there.
    end: Option<Instant>,
    pace: BodyPace,
    patience: Deadline,
}

struct HeldRoom {
    room: Arc<Room>,
    /// Others need the room.
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl RequestBody {
    /// `room`: unless there is no body.
    pub fn new(body: Incoming, room: Option<Arc<Room>>, state: Arc<ConnectionState>, limits: &ServeLimits) -> Self {
        let room = room.map(|room| HeldRoom { ended: Box::pin(room.ended()), room });
        let end = Instant::now().checked_add(limits.body);
        let pace = BodyPace { period: limits.body_stall, ..BodyPace::default() };
        Self { body: Some(body), room, state, end, pace, patience: Deadline::default() }
    }

    fn end(&mut self) {
        self.body = None;
        self.state.is_at_work();
    }

    /// Nothing has come. Ready once the time of the client is over.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.state.waits_for(Waits::Body);
        let deadline = [self.end, self.pace.waits()].into_iter().flatten().min();
        deadline.map_or(Poll::Pending, |deadline| self.patience.poll(deadline, context))
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(held) = &mut self.room
            && held.ended.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Some(Err(BodyError::NoRoom)));
        }
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        match Pin::new(body).poll_frame(context) {
            Poll::Pending => {
                ready!(self.poll_patience(context));
                self.end();
                Poll::Ready(Some(Err(BodyError::TooSlow)))
            }
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.end();
                Poll::Ready(Some(Err(BodyError::Broken(error.to_string()))))
            }
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                self.pace.brings(length);
                if self.room.as_ref().is_some_and(|held| !held.room.take(length)) {
                    return Poll::Ready(Some(Err(BodyError::NoRoom)));
                }
                if self.body.as_ref().is_some_and(HttpBody::is_end_stream) {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.room = None;
        if let (Some(body), Ok(runtime)) = (self.body.take(), tokio::runtime::Handle::try_current())
            && !body.is_end_stream()
        {
            self.state.waits_for(Waits::Body);
            runtime.spawn(tokio::time::timeout(LONGEST, throw_away(body)));
        }
    }
}

async fn throw_away(mut body: Incoming) {
    let mut read: u64 = 0;
    while body.size_hint().lower().saturating_add(read) <= MOST_BYTES {
        let Some(Ok(frame)) = body.frame().await else { return };
        let length = frame.data_ref().map_or(0, Bytes::len);
        read = read.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
}

/// How fast a body comes. The time counts in which the server waits for the client, in periods that end when the body has
/// brought its least: what it brought early earns no time later.
#[derive(Default)]
struct BodyPace {
    period: Duration,
    /// In the present period: since when the server waits, how long it waited before, and what has come.
    waiting: Option<Instant>,
    waited: Duration,
    brought: u64,
}

impl BodyPace {
    /// When the present period is over.
    fn waits(&mut self) -> Option<Instant> {
        let waiting = *self.waiting.get_or_insert_with(Instant::now);
        waiting.checked_add(self.period.saturating_sub(self.waited))
    }

    fn brings(&mut self, bytes: usize) {
        if let Some(waiting) = self.waiting.take() {
            self.waited = self.waited.saturating_add(waiting.elapsed());
        }
        self.brought = self.brought.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let least = self.period.as_millis().saturating_mul(u128::from(BODY_BYTES_PER_SECOND));
        if u128::from(self.brought).saturating_mul(1_000) >= least {
            (self.waited, self.brought) = (Duration::ZERO, 0);
        }
    }
}

/// An answer's body. It notifies the connection when hyper has all of it and drops it.
pub fn answer_body(body: Body, state: Arc<ConnectionState>) -> Body {
    let answered = AnsweredGuard(state);
    Body::new(body.map_err(move |error| {
        let _ = &answered;
        error
    }))
}

struct AnsweredGuard(Arc<ConnectionState>);

impl Drop for AnsweredGuard {
    fn drop(&mut self) {
        self.0.set_answered();
    }
}
