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
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::{bodies::Room, connections::ConnectionState};
use crate::body::BodyError;

/// Beyond these the connection of a client that sends a discarded body may break.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
const LONGEST: Duration = Duration::from_secs(10);

/// A request's body. Counts what a handler holds of it, and is read to its end even if no handler reads it.
pub struct RequestBody {
    /// `None` once it has ended or failed.
    body: Option<Incoming>,
    room: Option<HeldRoom>,
    state: Arc<ConnectionState>,
}

struct HeldRoom {
    room: Room,
    /// Others need the room.
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl RequestBody {
    /// `room`: unless there is no body.
    pub fn new(body: Incoming, room: Option<Room>, state: Arc<ConnectionState>) -> Self {
        let room = room.map(|room| HeldRoom { ended: Box::pin(room.ended()), room });
        Self { body: Some(body), room, state }
    }

    fn end(&mut self) {
        self.body = None;
        self.state.set_body_taken();
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
        match ready!(Pin::new(body).poll_frame(context)) {
            None => {
                self.end();
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.end();
                Poll::Ready(Some(Err(BodyError::from_engine(&error))))
            }
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
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
        let state = Arc::clone(&self.state);
        match (self.body.take(), tokio::runtime::Handle::try_current()) {
            (Some(body), Ok(runtime)) if !body.is_end_stream() => {
                runtime.spawn(async move {
                    let _ = tokio::time::timeout(LONGEST, throw_away(body)).await;
                    state.set_body_taken();
                });
            }
            _ => state.set_body_taken(),
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

/// An answer's body. It notifies the connection when the engine has all of it and drops it.
pub fn answer_body(body: Body, state: Arc<ConnectionState>) -> Body {
    let answered = Answered(state);
    Body::new(body.map_err(move |error| {
        let _ = &answered;
        error
    }))
}

struct Answered(Arc<ConnectionState>);

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.set_answered();
    }
}
