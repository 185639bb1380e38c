//! The gate between the socket and hyper. It examines each head before hyper sees it, gives hyper one request at a time,
//! and limits the time that a client may take for a head and for reading its answer.
//!
//! If hyper cannot read a head, its answer has no body. So hyper never gets a head that is refused here: the task of the
//! connection writes the refusal.

use std::{
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, timeout_at},
};
use tokio_util::io::poll_read_buf;

use super::{
    connections::{ConnectionState, Waits},
    head::{CHUNKED, examine},
    limits::{ANSWER_BYTES_PER_SECOND, MAX_HEAD, MAX_TARGET, ServeLimits},
};
use crate::error::{ApiError, ErrorCode};

/// Read from the socket at a time.
const CHUNK: usize = 16 * 1024;
/// How long a request continues after its client has ended its side.
const HANG_UP_GRACE: Duration = Duration::from_millis(250);

/// A socket that hyper reads one request from: the head that was examined, and the body that belongs to it.
pub struct RequestGate<S> {
    pub socket: S,
    state: Arc<ConnectionState>,
    limits: ServeLimits,
    /// What has come and was not passed on.
    inbound: BytesMut,
    /// How many bytes of the request hyper has not got. With [`CHUNKED`] the connection ends with its answer.
    left: u64,
    /// The answer to the request lies in the socket.
    answered: bool,
    /// Hyper has asked for another request.
    is_asked_for_more: bool,
    /// When the client ended its side.
    ended: Option<Instant>,
    hang_up: Deadline,
    /// When the first byte of the answer was written, when the last one, and how many were.
    writing_since: Option<Instant>,
    written_at: Instant,
    written: u64,
    writing: Deadline,
}

impl<S> RequestGate<S> {
    pub fn new(socket: S, state: Arc<ConnectionState>, limits: ServeLimits) -> Self {
        Self {
            socket,
            state,
            limits,
            inbound: BytesMut::new(),
            left: 0,
            answered: false,
            is_asked_for_more: true,
            ended: None,
            hang_up: Deadline::default(),
            writing_since: None,
            written_at: Instant::now(),
            written: 0,
            writing: Deadline::default(),
        }
    }

    /// Whether the last request is over and hyper would take another one.
    pub const fn goes_on(&self) -> bool {
        self.is_asked_for_more
    }

    /// The client may not have sent all it wanted.
    pub fn is_still_sending(&self) -> bool {
        self.ended.is_none() && (self.left > 0 || !self.inbound.is_empty())
    }

    /// The head that has come, if it is whole. `examined`: how much of it is known not to be.
    fn clear_head(&mut self, examined: &mut usize) -> Result<bool, ApiError> {
        // A head that arrives slowly is examined at its line ends, not at each byte.
        let fresh = self.inbound.get(*examined..).unwrap_or_default();
        if *examined > 0 && !fresh.contains(&b'\n') && self.inbound.len() < MAX_TARGET {
            return Ok(false);
        }
        *examined = self.inbound.len();
        let Some(length) = examine(&self.inbound)? else { return Ok(false) };
        self.left = length;
        (self.answered, self.is_asked_for_more) = (false, false);
        (self.writing_since, self.written) = (None, 0);
        self.state.begins();
        Ok(true)
    }

    /// The request is over once hyper has all of it and its answer is in the socket.
    const fn is_over(&self) -> bool {
        self.answered && self.left == 0
    }

    fn write_deadline(&mut self) -> Instant {
        let started = *self.writing_since.get_or_insert_with(Instant::now);
        let earned = Duration::from_secs(self.written.checked_div(ANSWER_BYTES_PER_SECOND).unwrap_or_default());
        let is_stream = self.state.streams.load(Ordering::Acquire);
        let whole = started.checked_add(self.limits.answer.saturating_add(earned)).filter(|_| !is_stream);
        let stall = self.written_at.checked_add(self.limits.answer_stall);
        [whole, stall].into_iter().flatten().min().unwrap_or(started)
    }
}

impl<S: AsyncRead + Unpin> RequestGate<S> {
    /// Waits for the head of a request. False if there is none: the client has gone, or has sent nothing for `silence`.
    pub async fn next_head(&mut self, silence: Duration) -> Result<bool, ApiError> {
        let deadline = |limit| Instant::now().checked_add(limit).unwrap_or_else(Instant::now);
        let mut examined = 0;
        let mut began = None;
        let silent = deadline(silence);
        loop {
            if !self.inbound.is_empty() {
                began.get_or_insert_with(|| deadline(self.limits.head));
            }
            let blank = self.inbound.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.inbound.advance(blank);
            if !self.inbound.is_empty() && self.clear_head(&mut examined)? {
                return Ok(true);
            }
            if self.ended.is_some() {
                return Ok(false);
            }
            self.state.waits_for(if self.inbound.is_empty() { Waits::Request } else { Waits::Head });
            self.inbound.reserve(CHUNK);
            match timeout_at(began.unwrap_or(silent), self.socket.read_buf(&mut self.inbound)).await {
                Ok(Ok(1..)) => {}
                Ok(_) => self.ended = Some(Instant::now()),
                Err(_) if self.inbound.is_empty() => return Ok(false),
                Err(_) => {
                    let problem = "the header fields did not arrive in time";
                    return Err(ApiError::new(ErrorCode::RequestTimeout, problem));
                }
            }
        }
    }

    /// Hyper has the whole request and looks whether its client is there. A client that has ended its side has gone,
    /// or it has sent everything and waits for the answer. Hyper always assumes the first and drops the handler. So
    /// it gets the end a moment later, and not while another request is waiting behind the current one.
    fn poll_hang_up(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.ended.is_none() && self.inbound.len() < MAX_HEAD {
            self.inbound.reserve(CHUNK);
            if ready!(poll_read_buf(Pin::new(&mut self.socket), context, &mut self.inbound))? == 0 {
                self.ended = Some(Instant::now());
            }
        }
        match self.ended.and_then(|ended| ended.checked_add(HANG_UP_GRACE)).filter(|_| self.inbound.is_empty()) {
            Some(deadline) => self.hang_up.poll(deadline, context).map(Ok),
            None => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RequestGate<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let gate = &mut *self;
        if gate.is_over() {
            // An end between two requests is an orderly one for hyper.
            gate.is_asked_for_more = true;
            return Poll::Ready(Ok(()));
        }
        if gate.left == 0 {
            return gate.poll_hang_up(context);
        }
        if gate.inbound.is_empty() {
            gate.inbound.reserve(CHUNK);
            if ready!(poll_read_buf(Pin::new(&mut gate.socket), context, &mut gate.inbound))? == 0 {
                gate.ended = Some(Instant::now());
                return Poll::Ready(Ok(()));
            }
        }
        let length = usize::try_from(gate.left).unwrap_or(usize::MAX).min(gate.inbound.len()).min(buffer.remaining());
        buffer.put_slice(&gate.inbound.split_to(length));
        if gate.left != CHUNKED {
            gate.left = gate.left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
        }
        if gate.left == 0 {
            gate.state.is_at_work();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RequestGate<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        if self.writing_since.is_none() {
            self.written_at = Instant::now();
        }
        let deadline = self.write_deadline();
        if polled.is_pending() {
            self.state.waits_for(Waits::Reader);
            ready!(self.writing.poll(deadline, context));
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was not taken in time")));
        }
        if let Poll::Ready(Ok(length)) = &polled {
            self.written = self.written.saturating_add(u64::try_from(*length).unwrap_or_default());
            self.written_at = Instant::now();
            if self.left == 0 {
                self.state.is_at_work();
            }
        }
        polled
    }

    /// Hyper flushes when it holds nothing back: what was answered lies in the socket then.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        if self.state.is_answered() && !self.answered {
            self.answered = true;
            // It looks for the next request, if there is to be one.
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// A timer whose deadline moves with every byte.
#[derive(Default)]
pub struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// Ready once `deadline` has passed.
    pub fn poll(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context)
    }
}
