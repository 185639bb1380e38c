//! A stream of changes over a node's WebSocket, in which every step has a deadline.
//!
//! The subscription to the program's accounts is required. Whether the stream lives is proved through the same
//! connection: by notifications of slots and of the clock account, each of them only if the node offers it. If it
//! offers neither, the node is asked for its slot. `Reached` is never sent: nothing in a WebSocket proves that every
//! change was delivered.

use std::sync::Arc;

use crtx_chain::urls::host;
use futures::{
    FutureExt, SinkExt, StreamExt,
    future::{BoxFuture, OptionFuture},
};
use rustls::{ClientConfig, crypto::aws_lc_rs};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::{net::TcpStream, time::sleep};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
    tungstenite::{Error as WsError, Message, protocol::WebSocketConfig},
};
use url::Url;

use super::{
    At, Change, Events, SourceEvent,
    accounts::{MAX_ENTRY_BYTES, of_program},
    deadlines::within,
    endpoint::Endpoint,
    error::SourceError,
    event_sender::EventSender,
    messages::{self, Received, Subscription},
};

/// A notification that names a slot so much later than the newest needs a second one.
const LEAP: u64 = 600;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects and subscribes.
pub(super) async fn subscribe(endpoint: Arc<Endpoint>, url: &Url) -> Result<Events, SourceError> {
    let (event_sender, events) = EventSender::new(host(url.as_str()), endpoint.deadlines);
    let socket = connect(&event_sender, url).await?;
    let (subscribed, slots_told, asked) = (false, None, 0);
    let (pinged, clock, leapt, polled) = (None, None, None, None);
    let mut stream =
        WebsocketStream { socket, endpoint, event_sender, subscribed, slots_told, asked, pinged, clock, leapt, polled };
    for subscription in Subscription::ALL {
        stream.send(Message::text(subscription.request(&stream.endpoint.program))).await?;
    }
    stream.until_subscribed().await?;
    tokio::spawn(async move {
        let reason = stream.run().await;
        stream.event_sender.end(reason, &stream.endpoint.stream).await;
    });
    Ok(events)
}

async fn connect(event_sender: &EventSender, url: &Url) -> Result<Socket, SourceError> {
    let unreachable = |reason: String| SourceError::unreachable(&event_sender.node, reason);
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MAX_ENTRY_BYTES);
    config.max_frame_size = Some(MAX_ENTRY_BYTES);
    let connector = if url.scheme() == "wss" {
        Connector::Rustls(tls().map_err(|error| unreachable(error.to_string()))?)
    } else {
        Connector::Plain
    };
    let connecting = connect_async_tls_with_config(url.as_str(), Some(config), true, Some(connector));
    let connecting = connecting.map(|connected| match connected {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(unreachable(without_url(&error))),
    });
    within(&event_sender.node, "a WebSocket connection", event_sender.deadlines.connect, connecting).await
}

/// The settings that the HTTP client uses: certificates that the machine trusts. The provider is named, because the
/// dependencies bring two, and `rustls` panics if it has to choose.
fn tls() -> Result<Arc<ClientConfig>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth();
    Ok(Arc::new(config))
}

/// Messages of errors about a URL could show a provider's key.
fn without_url(error: &WsError) -> String {
    match error {
        WsError::Url(_) => "its WebSocket URL cannot be used".to_owned(),
        WsError::Http(response) => format!("HTTP status {}", response.status()),
        error => error.to_string(),
    }
}

fn closed(node: &str, error: &WsError) -> SourceError {
    let node = node.to_owned();
    match error {
        WsError::Capacity(_) => SourceError::TooLarge { node, what: "a message", limit: MAX_ENTRY_BYTES },
        error => SourceError::Closed { node, reason: without_url(error) },
    }
}

/// One subscribed connection. What it counts are ticks of its sender.
struct WebsocketStream {
    socket: Socket,
    endpoint: Arc<Endpoint>,
    event_sender: EventSender,
    subscribed: bool,
    /// Whether the subscription to slots is granted. `None`: not answered yet.
    slots_told: Option<bool>,
    /// Since the subscriptions were asked for.
    asked: u32,
    /// Since a ping that is not answered.
    pinged: Option<u32>,
    /// Since the clock account was notified. `None`: never, although it may be granted. Surfpool is such a node.
    clock: Option<u32>,
    /// A slot far ahead that one notification named.
    leapt: Option<u64>,
    /// The node's slot, asked for over HTTP.
    polled: Option<BoxFuture<'static, Result<u64, SourceError>>>,
}

impl WebsocketStream {
    async fn send(&mut self, message: Message) -> Result<(), SourceError> {
        let node = &self.event_sender.node;
        let sent = self.socket.send(message).map(|sent| sent.map_err(|error| closed(node, &error)));
        within(node, "a WebSocket message", self.event_sender.deadlines.answer, sent).await
    }

    async fn until_subscribed(&mut self) -> Result<(), SourceError> {
        let (node, after) = (self.node(), self.event_sender.deadlines.answer);
        let subscribed = async {
            while !self.subscribed {
                let message = self.socket.next().await;
                self.take(message).await?;
            }
            Ok(())
        };
        within(&node, "programSubscribe", after, subscribed).await
    }

    /// Forwards notifications until the stream ends. Ticks come first, also between the messages of a node that never
    /// stops sending.
    async fn run(&mut self) -> SourceError {
        loop {
            let step = tokio::select! {
                biased;
                tick = self.event_sender.tick() => match tick {
                    Ok(()) => self.look().await,
                    left => left,
                },
                message = self.socket.next() => self.take(message).await,
                Some(slot) = OptionFuture::from(self.polled.as_mut()) => self.take_polled(slot),
            };
            if let Err(reason) = step {
                return reason;
            }
        }
    }

    async fn take(&mut self, message: Option<Result<Message, WsError>>) -> Result<(), SourceError> {
        let node = self.node();
        match message {
            None => Err(SourceError::Closed { node, reason: "the connection is closed".to_owned() }),
            Some(Err(error)) => Err(closed(&node, &error)),
            Some(Ok(Message::Close(frame))) => {
                let reason = frame.map_or_else(|| "it closed the connection".to_owned(), |frame| frame.to_string());
                Err(SourceError::Closed { node, reason })
            }
            Some(Ok(Message::Pong(_))) => {
                self.pinged = None;
                Ok(())
            }
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => Err(SourceError::Malformed { node, what: "a binary message" }),
            Some(Ok(Message::Text(text))) => {
                self.event_sender.heard = 0;
                let read = messages::read(&text);
                self.received(read.ok_or(SourceError::Malformed { node, what: "a message" })?).await
            }
        }
    }

    async fn received(&mut self, received: Received) -> Result<(), SourceError> {
        match received {
            Received::Answered(Subscription::Program, Ok(())) => self.subscribed = true,
            Received::Answered(Subscription::Program, Err(reason)) => {
                return Err(SourceError::SubscriptionRefused { node: self.node(), reason });
            }
            Received::Answered(Subscription::Slots, answer) => self.slots_told = Some(answer.is_ok()),
            Received::Account { slot, address, account } => {
                let data = of_program(&self.endpoint.program, &self.event_sender.node, account)?;
                self.event_sender.send(SourceEvent::Change(Change { address, slot, data })).await?;
            }
            Received::Slot(slot) => self.alive(slot),
            Received::Clock(slot) => {
                self.clock = Some(0);
                self.alive(slot);
            }
            Received::Answered(Subscription::Clock, _) | Received::Other => {}
        }
        Ok(())
    }

    /// Reports a newer slot. Slots of other forks and older ones are no progress.
    fn alive(&mut self, slot: u64) {
        let newest = self.event_sender.slot;
        let is_far = |from: u64| slot > from.saturating_add(LEAP);
        if newest > 0 && is_far(newest) && self.leapt.replace(slot).is_none_or(is_far) {
            return;
        }
        if slot > newest {
            (self.event_sender.slot, self.event_sender.moved) = (slot, 0);
            self.event_sender.tell(SourceEvent::Alive(slot));
        }
    }

    /// Ends a stream whose time is over, and sends the next ping.
    async fn look(&mut self) -> Result<(), SourceError> {
        for ticks in [Some(&mut self.asked), self.pinged.as_mut(), self.clock.as_mut()].into_iter().flatten() {
            *ticks = ticks.saturating_add(1);
        }
        let (answer, silence) = (self.event_sender.deadlines.answer, self.event_sender.deadlines.silence);
        if self.pinged.is_some_and(|ticks| self.event_sender.are_longer(ticks, answer)) {
            return Err(SourceError::TimedOut { node: self.node(), what: "a ping", after: answer });
        }
        if self.event_sender.are_longer(self.asked, answer) {
            self.slots_told.get_or_insert(false);
            self.ask_for_slots();
        }
        // Whether the node is expected to send something again and again.
        self.event_sender.check(self.slots_told != Some(false) || self.clock.is_some())?;
        // The clock changes in every slot and is notified like the program's accounts.
        let without_clock = self.clock.map_or(0, |ticks| ticks.saturating_sub(self.event_sender.moved));
        if self.event_sender.are_longer(without_clock, silence) {
            let reason = "notifications of slots arrive, notifications of accounts do not".to_owned();
            return Err(SourceError::Missed { node: self.node(), reason });
        }
        self.pinged.get_or_insert(0);
        self.send(Message::Ping(Vec::new().into())).await
    }

    /// If no notification tells the slot, the node is asked for it.
    fn ask_for_slots(&mut self) {
        if self.slots_told == Some(false) && self.clock.is_none() && self.polled.is_none() {
            tracing::warn!(node = %self.event_sender.node, "the node does not tell its slots, so it is asked for them");
            self.polled = Some(self.next_slot());
        }
    }

    fn next_slot(&self) -> BoxFuture<'static, Result<u64, SourceError>> {
        let (endpoint, pause) = (Arc::clone(&self.endpoint), self.event_sender.pause());
        let ask = async move { endpoint.slot(At::Confirmed).await };
        sleep(pause).then(|()| ask).boxed()
    }

    fn take_polled(&mut self, slot: Result<u64, SourceError>) -> Result<(), SourceError> {
        self.alive(slot?);
        self.polled = Some(self.next_slot());
        Ok(())
    }

    fn node(&self) -> String {
        self.event_sender.node.clone()
    }
}
