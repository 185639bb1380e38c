//! A stream of changes over a node's WebSocket, in which every step has a deadline.
//!
//! The subscription to the program's accounts is required. Whether the stream lives is proved through the same
//! connection: by notifications of slots and of the clock account, each of them only if the node offers it. If it
//! offers neither, the node is asked for its slot. `Reached` is never sent: nothing in a WebSocket proves that every
//! change was delivered.

use std::{sync::Arc, time::Duration};

use futures::{SinkExt, StreamExt};
use solana_pubkey::Pubkey;
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, interval, sleep_until, timeout},
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
    tungstenite::{Error as WsError, Message, protocol::WebSocketConfig},
};

use super::{
    At, Change, Event, Events,
    accounts::{MAX_ACCOUNT_BYTES, MAX_ENTRY_BYTES, of_program},
    deadlines::Deadlines,
    error::SourceError,
    http::HttpNode,
    messages::{self, Received, Subscription},
    outlet::Outlet,
    reads, tls,
};

/// A notification that names a slot so much later than the newest needs a second one.
const LEAP: u64 = 600;
/// Pings within the time of silence, and questions for the slot where no subscription tells it.
const LOOKS_PER_SILENCE: u32 = 5;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What is subscribed to, and where.
#[derive(Clone)]
pub(super) struct Target {
    pub url: String,
    /// Host and port.
    pub node: String,
    pub program: Pubkey,
    pub deadlines: Deadlines,
    /// Tells the slot where no subscription does.
    pub http: Arc<HttpNode>,
}

/// Connects and subscribes. `on_end` learns why the stream ended, unless its reader left.
pub(super) async fn subscribe(
    target: Target,
    on_end: impl FnOnce(&SourceError) + Send + 'static,
) -> Result<Events, SourceError> {
    let mut socket = connect(&target).await?;
    for subscription in Subscription::ALL {
        send(&mut socket, &target, Message::text(subscription.request(&target.program))).await?;
    }
    let (outlet, events) = Outlet::new(&target.node, target.deadlines.reader);
    let mut stream = Stream::new(socket, target, outlet);
    stream.until_subscribed().await?;
    tokio::spawn(async move {
        if let Some(reason) = stream.run().await {
            on_end(&reason);
            stream.outlet.end(reason);
        }
    });
    Ok(events)
}

async fn connect(target: &Target) -> Result<Socket, SourceError> {
    let unreachable = |reason: String| SourceError::Unreachable { node: target.node.clone(), reason };
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MAX_ENTRY_BYTES);
    config.max_frame_size = Some(MAX_ENTRY_BYTES);
    let connector = if target.url.starts_with("wss:") {
        Connector::Rustls(tls::config().map_err(|error| unreachable(error.to_string()))?)
    } else {
        Connector::Plain
    };
    let after = target.deadlines.connect;
    let connecting = connect_async_tls_with_config(target.url.as_str(), Some(config), true, Some(connector));
    match timeout(after, connecting).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(error)) => Err(unreachable(without_url(&error))),
        Err(_) => Err(SourceError::TimedOut { node: target.node.clone(), what: "a WebSocket connection", after }),
    }
}

/// Messages of errors about a URL could show a provider's key.
fn without_url(error: &WsError) -> String {
    match error {
        WsError::Url(_) => "its WebSocket URL cannot be used".to_owned(),
        WsError::Http(response) => format!("HTTP status {}", response.status()),
        error => error.to_string(),
    }
}

async fn send(socket: &mut Socket, target: &Target, message: Message) -> Result<(), SourceError> {
    let after = target.deadlines.answer;
    match timeout(after, socket.send(message)).await {
        Ok(sent) => sent.map_err(|error| closed(&target.node, &error)),
        Err(_) => Err(SourceError::TimedOut { node: target.node.clone(), what: "a WebSocket message", after }),
    }
}

fn closed(node: &str, error: &WsError) -> SourceError {
    match error {
        WsError::Capacity(_) => {
            SourceError::TooLarge { node: node.to_owned(), what: "a message", limit: MAX_ENTRY_BYTES }
        }
        error => SourceError::Closed { node: node.to_owned(), reason: without_url(error) },
    }
}

/// Whether an optional subscription tells anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optional {
    Asked,
    Granted,
    /// Refused, or not answered in time.
    LeftOut,
}

/// One subscribed connection.
struct Stream {
    socket: Socket,
    target: Target,
    outlet: Outlet,
    subscribed: bool,
    slots: Optional,
    clock: Optional,
    /// When the subscriptions were asked for.
    asked_at: Instant,
    /// When the node sent something last, pongs excepted.
    heard_at: Instant,
    /// When a ping was sent that is not answered.
    pinged_at: Option<Instant>,
    next_ping: Instant,
    slot: u64,
    /// A slot far ahead that one notification named.
    leapt: Option<u64>,
    finalized: Option<u64>,
    /// When the newest slot moved.
    moved_at: Instant,
    /// When the clock account was notified. `None`: never, although it may be granted. Surfpool is such a node.
    clock_at: Option<Instant>,
    /// The node's slot, asked for over HTTP.
    polled: Option<mpsc::Receiver<Result<u64, SourceError>>>,
}

impl Stream {
    fn new(socket: Socket, target: Target, outlet: Outlet) -> Self {
        let now = Instant::now();
        Self {
            socket,
            target,
            outlet,
            subscribed: false,
            slots: Optional::Asked,
            clock: Optional::Asked,
            asked_at: now,
            heard_at: now,
            pinged_at: None,
            next_ping: now,
            slot: 0,
            leapt: None,
            finalized: None,
            moved_at: now,
            clock_at: None,
            polled: None,
        }
    }

    async fn until_subscribed(&mut self) -> Result<(), SourceError> {
        let after = self.target.deadlines.answer;
        let subscribed = async {
            while !self.subscribed {
                let message = self.socket.next().await;
                self.take(message).await?;
            }
            Ok(())
        };
        let answered = timeout(after, subscribed).await;
        let late = |_| SourceError::TimedOut { node: self.node(), what: "programSubscribe", after };
        answered.map_err(late)?
    }

    /// Forwards notifications until the stream ends. `None`: its reader left.
    async fn run(&mut self) -> Option<SourceError> {
        loop {
            let due = self.next_look();
            let step = tokio::select! {
                biased;
                () = self.outlet.reader_left() => return None,
                message = self.socket.next() => self.take(message).await,
                Some(slot) = next_slot(&mut self.polled) => self.told_slot(slot),
                () = sleep_until(due) => Ok(()),
            };
            // Also between the messages of a node that never stops sending.
            let looked = if step.is_ok() && Instant::now() >= due { self.look().await } else { step };
            if let Err(reason) = looked {
                return Some(reason);
            }
        }
    }

    fn told_slot(&mut self, slot: Result<u64, SourceError>) -> Result<(), SourceError> {
        self.alive(slot?, None);
        Ok(())
    }

    async fn take(&mut self, message: Option<Result<Message, WsError>>) -> Result<(), SourceError> {
        match message {
            None => Err(SourceError::Closed { node: self.node(), reason: "the connection is closed".to_owned() }),
            Some(Err(error)) => Err(closed(&self.target.node, &error)),
            Some(Ok(Message::Close(frame))) => {
                let reason = frame.map_or_else(|| "it closed the connection".to_owned(), |frame| frame.to_string());
                Err(SourceError::Closed { node: self.node(), reason })
            }
            Some(Ok(Message::Pong(_))) => {
                self.pinged_at = None;
                Ok(())
            }
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => Err(SourceError::Malformed { node: self.node(), what: "a binary message" }),
            Some(Ok(Message::Text(text))) => {
                self.heard_at = Instant::now();
                let read = messages::read(&text);
                self.received(read.ok_or_else(|| SourceError::Malformed { node: self.node(), what: "a message" })?)
                    .await
            }
        }
    }

    async fn received(&mut self, received: Received) -> Result<(), SourceError> {
        match received {
            Received::Granted(Subscription::Program) => self.subscribed = true,
            Received::Granted(Subscription::Slots) => self.slots = Optional::Granted,
            Received::Granted(Subscription::Clock) => self.clock = Optional::Granted,
            Received::Refused(Subscription::Program, reason) => {
                return Err(SourceError::SubscriptionRefused { node: self.node(), reason });
            }
            Received::Refused(Subscription::Slots, _) => self.slots = Optional::LeftOut,
            Received::Refused(Subscription::Clock, _) => self.clock = Optional::LeftOut,
            Received::Account { slot, address, account } => {
                let data = of_program(&self.target.program, account).map_err(|_| SourceError::TooLarge {
                    node: self.node(),
                    what: "an account",
                    limit: MAX_ACCOUNT_BYTES,
                })?;
                let started = Instant::now();
                self.outlet.send(Event::Change(Change { address, slot, data })).await?;
                self.forgive(started.elapsed());
            }
            Received::Slot { slot, root } => self.alive(slot, Some(root)),
            Received::Clock { slot } => {
                self.clock_at = Some(Instant::now());
                self.alive(slot, None);
            }
            Received::Other => {}
        }
        Ok(())
    }

    /// The reader, or the machine, has kept this task waiting. That is not the node's silence.
    fn forgive(&mut self, waited: Duration) {
        for since in [&mut self.heard_at, &mut self.moved_at, &mut self.asked_at, &mut self.next_ping] {
            *since = later(*since, waited);
        }
        self.pinged_at = self.pinged_at.map(|at| later(at, waited));
        self.clock_at = self.clock_at.map(|at| later(at, waited));
    }

    /// Reports a newer slot. Slots of other forks and older ones are no progress.
    fn alive(&mut self, slot: u64, root: Option<u64>) {
        let is_far = |from: u64| slot > from.saturating_add(LEAP);
        if self.slot > 0 && is_far(self.slot) && self.leapt.replace(slot).is_none_or(is_far) {
            return;
        }
        let root = root.filter(|root| *root <= slot);
        let rooted = root > self.finalized;
        if slot > self.slot {
            self.slot = slot;
            self.moved_at = Instant::now();
        } else if !rooted {
            return;
        }
        self.finalized = self.finalized.max(root);
        self.outlet.tell(Event::Alive { slot: self.slot, finalized: self.finalized });
    }

    /// When the stream is looked after next, if the node sends nothing.
    fn next_look(&self) -> Instant {
        let Deadlines { answer, .. } = self.target.deadlines;
        let pong = self.pinged_at.map_or(self.next_ping, |at| later(at, answer));
        pong.min(self.next_ping)
    }

    /// Ends a stream whose time is over, and sends the next ping.
    async fn look(&mut self) -> Result<(), SourceError> {
        let now = Instant::now();
        let late = now.saturating_duration_since(self.next_look());
        if late > self.pause() {
            self.forgive(late);
        }
        let Deadlines { answer, silence, still, .. } = self.target.deadlines;
        let passed = |since: Instant, limit: Duration| now.saturating_duration_since(since) >= limit;
        if self.pinged_at.is_some_and(|at| passed(at, answer)) {
            return Err(SourceError::TimedOut { node: self.node(), what: "a ping", after: answer });
        }
        if passed(self.asked_at, answer) {
            self.leave_out();
        }
        if self.tells_slots() && passed(self.heard_at, silence) {
            return Err(SourceError::Silent { node: self.node(), after: silence });
        }
        if passed(self.moved_at, still) {
            return Err(SourceError::StandsStill { node: self.node(), slot: self.slot, after: still });
        }
        // The clock changes in every slot and is notified like the program's accounts.
        let slots_without_clock = self.clock_at.map(|at| self.moved_at.saturating_duration_since(at));
        if slots_without_clock.is_some_and(|time| time >= silence) {
            let reason = "notifications of slots arrive, notifications of accounts do not".to_owned();
            return Err(SourceError::Missed { node: self.node(), reason });
        }
        if now >= self.next_ping {
            self.next_ping = later(now, self.pause());
            self.pinged_at = self.pinged_at.or(Some(now));
            send(&mut self.socket, &self.target, Message::Ping(Vec::new().into())).await?;
        }
        Ok(())
    }

    fn node(&self) -> String {
        self.target.node.clone()
    }

    fn pause(&self) -> Duration {
        let silence = self.target.deadlines.silence;
        silence.checked_div(LOOKS_PER_SILENCE).unwrap_or(silence)
    }

    /// Whether the node is expected to send something again and again.
    fn tells_slots(&self) -> bool {
        self.slots != Optional::LeftOut || self.clock_at.is_some()
    }

    /// Optional subscriptions without an answer are left out. If nothing tells the slot then, it is asked for.
    fn leave_out(&mut self) {
        for optional in [&mut self.slots, &mut self.clock] {
            if *optional == Optional::Asked {
                *optional = Optional::LeftOut;
            }
        }
        if self.slots == Optional::LeftOut && self.clock_at.is_none() && self.polled.is_none() {
            tracing::warn!(node = %self.target.node, "the node does not tell its slots, so it is asked for them");
            self.polled = Some(poll(Arc::clone(&self.target.http), self.pause()));
        }
    }
}

fn later(instant: Instant, pause: Duration) -> Instant {
    instant.checked_add(pause).unwrap_or(instant)
}

async fn next_slot(polled: &mut Option<mpsc::Receiver<Result<u64, SourceError>>>) -> Option<Result<u64, SourceError>> {
    match polled {
        Some(polled) => polled.recv().await,
        None => std::future::pending().await,
    }
}

/// Asks for the slot again and again, as long as somebody listens.
fn poll(node: Arc<HttpNode>, every: Duration) -> mpsc::Receiver<Result<u64, SourceError>> {
    let (slots, polled) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut tick = interval(every);
        loop {
            tick.tick().await;
            let slot = reads::slot(&node, At::Confirmed).await;
            if slots.send(slot).await.is_err() {
                return;
            }
        }
    });
    polled
}
