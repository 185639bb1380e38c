//! A stream between the socket and the HTTP engine. It limits the time of everything that a client can be slow
//! at, examines each head before the engine sees it, and gives the engine one request at a time.
//!
//! The engine's own answers to heads that it cannot read have no body. So the engine never gets a head that is
//! refused here: it sees the end of the stream and returns the socket, and the task of the connection writes the
//! refusal.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};
use tokio_util::io::poll_read_buf;

use super::{
    connections::{ConnectionState, Waits},
    head::{Framing, examine},
    limits::{ANSWER_BYTES_PER_SECOND, BODY_BYTES_PER_SECOND, ServeLimits},
};
use crate::error::{ApiError, ErrorCode};

/// Read from the socket at a time.
const CHUNK: usize = 16 * 1024;
/// How long a request continues after its client has ended its side.
const HANG_UP_GRACE: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before or in a head.
    Head,
    /// So many bytes of the body are missing.
    Body { left: u64 },
    /// A body whose end the engine finds. The connection ends with the answer.
    Chunked,
    /// The engine has the whole request.
    Passed,
}

/// What is left when the engine is done.
pub struct Parts<S> {
    pub socket: S,
    /// The answer that the socket still has to carry.
    pub refusal: Option<ApiError>,
    /// The client may not have sent all it wanted.
    pub is_still_sending: bool,
}

/// A socket that is safe to give to the engine.
pub struct Gate<S> {
    socket: S,
    state: Arc<ConnectionState>,
    limits: ServeLimits,
    /// What has come and was not passed on.
    inbound: BytesMut,
    /// Bytes of `inbound` that the engine may have: an examined head.
    cleared: usize,
    /// Length of `inbound` when its head was last examined.
    examined: usize,
    phase: Phase,
    /// The answer to the request that was passed on lies in the socket.
    answered: bool,
    /// When the client ended its side.
    ended: Option<Instant>,
    served: bool,
    refusal: Option<ApiError>,
    /// When the present phase began.
    since: Instant,
    pace: BodyPace,
    reading: Deadline,
    /// When the first byte of the answer was written, when the last one, and how many were.
    writing_since: Option<Instant>,
    written_at: Instant,
    written: u64,
    writing: Deadline,
    reader: Option<Waker>,
}

impl<S> Gate<S> {
    pub fn new(socket: S, state: Arc<ConnectionState>, limits: ServeLimits) -> Self {
        let now = Instant::now();
        Self {
            socket,
            state,
            limits,
            inbound: BytesMut::new(),
            cleared: 0,
            examined: 0,
            phase: Phase::Head,
            answered: false,
            ended: None,
            served: false,
            refusal: None,
            since: now,
            pace: BodyPace::default(),
            reading: Deadline::default(),
            writing_since: None,
            written_at: now,
            written: 0,
            writing: Deadline::default(),
            reader: None,
        }
    }

    pub fn into_parts(self) -> Parts<S> {
        let is_between_requests = self.phase == Phase::Head && self.inbound.is_empty();
        Parts {
            is_still_sending: self.ended.is_none() && !is_between_requests,
            socket: self.socket,
            refusal: self.refusal,
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.since = Instant::now();
        self.pace = BodyPace::default();
    }

    /// Passes cleared bytes on, or bytes of the body.
    fn pass_on(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let allowed = match self.phase {
            _ if self.cleared > 0 => self.cleared,
            Phase::Body { left } => usize::try_from(left).unwrap_or(usize::MAX),
            Phase::Chunked if !self.state.is_body_taken() => usize::MAX,
            _ => 0,
        };
        let length = allowed.min(self.inbound.len()).min(buffer.remaining());
        if length == 0 {
            return false;
        }
        buffer.put_slice(&self.inbound.split_to(length));
        if self.cleared > 0 {
            self.cleared = self.cleared.saturating_sub(length);
        } else if let Phase::Body { left } = self.phase {
            let left = left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
            self.phase = Phase::Body { left };
            if left == 0 {
                self.enter(Phase::Passed);
                self.state.is_at_work();
                self.next_request();
            }
        }
        true
    }

    /// Looks at the head that has come so far. True if it is whole and cleared.
    fn clear_head(&mut self) -> bool {
        let blank = self.inbound.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.inbound.advance(blank);
        self.examined = self.examined.saturating_sub(blank);
        // A head that arrives slowly is examined at its line ends, not at each byte.
        let fresh = self.inbound.get(self.examined..).unwrap_or_default();
        let is_first = self.examined == 0;
        if fresh.is_empty()
            || (!is_first && !fresh.contains(&b'\n') && self.inbound.len() < self.limits.head_limits.max_target)
        {
            return false;
        }
        self.examined = self.inbound.len();
        match examine(&self.inbound, &self.limits.head_limits) {
            Ok(None) => false,
            Ok(Some((length, framing))) => {
                self.cleared = length;
                self.examined = 0;
                self.served = true;
                self.answered = false;
                self.writing_since = None;
                self.written = 0;
                self.state.begins();
                self.enter(match framing {
                    Framing::Length(0) => Phase::Passed,
                    Framing::Length(left) => Phase::Body { left },
                    Framing::Chunked => Phase::Chunked,
                });
                true
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                false
            }
        }
    }

    /// A request is looked for once the one before is whole and its answer is in the socket.
    fn next_request(&mut self) {
        if self.answered && self.phase == Phase::Passed && self.cleared == 0 {
            self.answered = false;
            self.enter(Phase::Head);
            self.wake_reader();
        }
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Whether more bytes may be read from the socket now.
    fn has_room(&self) -> bool {
        match self.phase {
            Phase::Head => true,
            Phase::Body { .. } => self.inbound.is_empty(),
            Phase::Chunked if !self.state.is_body_taken() => self.inbound.is_empty(),
            // The client has been sending the next request already.
            Phase::Chunked | Phase::Passed => self.inbound.len() < self.limits.head_limits.max_head,
        }
    }

    /// What the server waits for from the client, and until when.
    fn awaited(&self) -> Option<(Waits, Option<Instant>)> {
        let limits = &self.limits;
        let (what, time) = match self.phase {
            Phase::Head if !self.inbound.is_empty() => (Waits::Head, limits.head),
            Phase::Head if self.served => (Waits::Request, limits.keep_alive),
            Phase::Head => (Waits::Request, limits.first_byte),
            Phase::Chunked if self.state.is_body_taken() => return None,
            Phase::Body { .. } | Phase::Chunked => (Waits::Body, limits.body),
            Phase::Passed => return None,
        };
        let whole = self.since.checked_add(time);
        let pace = if what == Waits::Body { self.pace.deadline(limits.body_stall) } else { None };
        Some((what, [whole, pace].into_iter().flatten().min()))
    }

    /// The client has ended its side: it has gone, or it has sent everything and waits for the answer. The engine
    /// always assumes the first and drops the handler. So it gets the end a moment later, and not while a whole
    /// request is waiting behind the current one.
    fn poll_end(&mut self, ended: Instant, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.phase != Phase::Passed {
            return Poll::Ready(Ok(()));
        }
        self.reader = Some(context.waker().clone());
        let deadline = ended.checked_add(HANG_UP_GRACE).filter(|_| self.inbound.is_empty());
        deadline.map_or(Poll::Pending, |deadline| self.reading.poll(deadline, context).map(Ok))
    }

    /// No bytes arrived. An error or the end of the stream if the time of the client is over.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pace.waits();
        self.reader = Some(context.waker().clone());
        let Some((what, deadline)) = self.awaited() else { return Poll::Pending };
        self.state.waits_for(what);
        let Some(deadline) = deadline else { return Poll::Pending };
        ready!(self.reading.poll(deadline, context));
        match self.phase {
            Phase::Head => {
                if !self.inbound.is_empty() {
                    self.refusal =
                        Some(ApiError::new(ErrorCode::RequestTimeout, "the header fields did not arrive in time"));
                }
                Poll::Ready(Ok(()))
            }
            _ => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the body did not arrive in time"))),
        }
    }

    /// Counts bytes in that have come.
    fn note_arrival(&mut self, bytes: usize, was_empty: bool) {
        self.pace.brings(bytes, self.limits.body_stall);
        if was_empty && self.phase == Phase::Head {
            self.since = Instant::now();
        }
    }

    fn write_deadline(&mut self) -> Instant {
        let started = *self.writing_since.get_or_insert_with(Instant::now);
        let earned = Duration::from_secs(self.written.checked_div(ANSWER_BYTES_PER_SECOND).unwrap_or_default());
        let whole = started.checked_add(self.limits.answer.saturating_add(earned));
        let stall = self.written_at.checked_add(self.limits.answer_stall);
        [whole, stall].into_iter().flatten().min().unwrap_or(started)
    }

    fn on_write(&mut self, polled: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.writing_since.is_none() {
            self.written_at = Instant::now();
        }
        let deadline = self.write_deadline();
        match polled {
            Poll::Ready(Ok(length)) => {
                self.written = self.written.saturating_add(u64::try_from(length).unwrap_or_default());
                self.written_at = Instant::now();
                if self.phase == Phase::Passed {
                    self.state.is_at_work();
                }
                Poll::Ready(Ok(length))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.state.waits_for(Waits::Reader);
                ready!(self.writing.poll(deadline, context));
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was not taken in time")))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gate<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let gate = &mut *self;
        loop {
            if gate.refusal.is_some() || gate.pass_on(buffer) {
                return Poll::Ready(Ok(()));
            }
            if gate.phase == Phase::Head && (gate.clear_head() || gate.refusal.is_some()) {
                continue;
            }
            if let Some(ended) = gate.ended {
                return gate.poll_end(ended, context);
            }
            if !gate.has_room() {
                gate.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
            let was_empty = gate.inbound.is_empty();
            gate.inbound.reserve(CHUNK);
            match poll_read_buf(Pin::new(&mut gate.socket), context, &mut gate.inbound) {
                Poll::Ready(Ok(0)) => gate.ended = Some(Instant::now()),
                Poll::Ready(Ok(bytes)) => gate.note_arrival(bytes, was_empty),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return gate.poll_patience(context),
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gate<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.on_write(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(context, buffers);
        self.on_write(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// The engine flushes when it holds nothing back: what was answered lies in the socket then.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        if self.state.is_answered() {
            self.answered = true;
        }
        self.next_request();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// How fast a body comes. The time counts in which the server waits for the client, in periods that end when the body has
/// brought its least: what it brought early earns no time later.
#[derive(Default)]
struct BodyPace {
    /// In the present period: since when the server waits, how long it waited before, and what has come.
    waiting: Option<Instant>,
    waited: Duration,
    brought: u64,
}

impl BodyPace {
    fn waits(&mut self) {
        self.waiting.get_or_insert_with(Instant::now);
    }

    fn brings(&mut self, bytes: usize, period: Duration) {
        if let Some(waiting) = self.waiting.take() {
            self.waited = self.waited.saturating_add(waiting.elapsed());
        }
        self.brought = self.brought.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        let least = period.as_millis().saturating_mul(u128::from(BODY_BYTES_PER_SECOND));
        if u128::from(self.brought).saturating_mul(1_000) >= least {
            (self.waited, self.brought) = (Duration::ZERO, 0);
        }
    }

    /// When the present period is over.
    fn deadline(&self, period: Duration) -> Option<Instant> {
        self.waiting?.checked_add(period.saturating_sub(self.waited))
    }
}

/// A timer whose deadline moves with every byte.
#[derive(Default)]
struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// Ready once `deadline` has passed.
    fn poll(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context)
    }
}
