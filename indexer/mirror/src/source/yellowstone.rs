//! A stream of changes over Yellowstone gRPC, which can prove that it delivered everything up to a slot.
//!
//! The client of Yellowstone connects again by itself and asks for the slots after the last confirmed one again, so a
//! short break costs no snapshot. The stream ends if that fails, or if nothing arrives for too long.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use crtx_chain::urls::host;
use crtx_protocol::text::shortened;
use futures::{FutureExt, SinkExt, StreamExt, TryFutureExt};
use parking_lot::Mutex;
use solana_pubkey::Pubkey;
use tonic::{Code, Status};
use url::Url;
use yellowstone_grpc_client::{
    Backoff, ClientTlsConfig, GeyserGrpcBuilder, GeyserGrpcBuilderResult, GeyserGrpcClient, GeyserGrpcClientError,
    ReconnectConfig, ReconnectEvent, ReconnectPolicy, ReconnectStream, SubscribeRequestSink,
};
use yellowstone_grpc_proto::prelude::{
    CommitmentLevel, SubscribeRequest, SubscribeRequestFilterAccounts, SubscribeRequestFilterBlocksMeta,
    SubscribeRequestFilterSlots, SubscribeRequestFilterTransactions, SubscribeRequestPing, SubscribeUpdate,
    subscribe_update::UpdateOneof,
};

use super::{
    Events, SourceEvent,
    accounts::MAX_ENTRY_BYTES,
    banks::Banks,
    deadlines::{Deadlines, within},
    endpoint::Rest,
    error::{MAX_REASON_CHARS, SourceError},
    event_sender::EventSender,
};

/// The name of our filters.
const FILTER: &str = "crtx";
/// Attempts to connect again, the first after this pause, each next one after twice the pause.
const RETRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// A Yellowstone gRPC server.
#[derive(Clone, PartialEq, Eq)]
pub struct YellowstoneAddress {
    pub url: Url,
    /// Sent as `x-token`.
    pub token: Option<String>,
}

impl fmt::Debug for YellowstoneAddress {
    /// Shows the host alone, because providers put keys into paths as well.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&host(self.url.as_str()))
    }
}

/// Where to stream from.
pub(super) struct Yellowstone {
    address: YellowstoneAddress,
    /// Host and port.
    pub name: String,
    program: Pubkey,
    deadlines: Deadlines,
    /// Of the last subscription.
    client: Mutex<Option<GeyserGrpcClient>>,
    pub rest: Arc<Rest>,
}

impl Yellowstone {
    pub(super) fn new(address: &YellowstoneAddress, program: Pubkey, deadlines: Deadlines) -> Self {
        let name = host(address.url.as_str());
        Self { address: address.clone(), name, program, deadlines, client: Mutex::default(), rest: Arc::default() }
    }

    pub(super) async fn connect(&self) -> Result<GeyserGrpcClient, SourceError> {
        let connecting = async { self.builder()?.connect().await }.map_err(|error| self.unreachable(&error));
        within(&self.name, "a gRPC connection", self.deadlines.connect, connecting).await
    }

    fn builder(&self) -> GeyserGrpcBuilderResult<GeyserGrpcBuilder> {
        let Deadlines { connect, answer, .. } = self.deadlines;
        let backoff = Backoff::new(FIRST_PAUSE, 2.0, RETRIES);
        let config = ReconnectConfig { backoff, policy: ReconnectPolicy::Replay { slots_behind: 0 } };
        let mut builder = GeyserGrpcClient::build_from_shared(self.address.url.to_string())?;
        if self.address.url.scheme() == "https" {
            builder = builder.tls_config(ClientTlsConfig::new().with_native_roots())?;
        }
        Ok(builder
            .x_token(self.address.token.clone())?
            .connect_timeout(connect)
            .http2_keep_alive_interval(answer)
            .keep_alive_timeout(answer)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
            .max_decoding_message_size(MAX_ENTRY_BYTES)
            .set_reconnect_config(config))
    }

    /// A blockhash that other nodes of the same chain know. A server that has just started has no finalized one.
    pub(super) async fn recent_blockhash(&self, client: &mut GeyserGrpcClient) -> Result<String, SourceError> {
        let answer = client.get_latest_blockhash(Some(CommitmentLevel::Confirmed));
        let answer = answer.map_err(|error| self.refused(&error)).map_ok(|answer| answer.blockhash);
        within(&self.name, "a blockhash", self.deadlines.answer, answer).await
    }

    /// The oldest slot that the server sends again; not every server tells.
    pub(super) async fn replays_from(&self) -> Option<u64> {
        let mut client = self.client.lock().clone()?;
        client.subscribe_replay_info().await.ok()?.first_available
    }

    /// Changes from now on.
    pub(super) async fn subscribe(&self, mut client: GeyserGrpcClient) -> Result<Events, SourceError> {
        let subscribing = client.subscribe_with_reconnect(Some(request(&self.program)));
        let subscribing = subscribing.map_err(|error| self.refused(&error));
        let (sink, updates) = within(&self.name, "a subscription", self.deadlines.answer, subscribing).await?;
        *self.client.lock() = Some(client);
        let (event_sender, events) = EventSender::new(self.name.clone(), self.deadlines);
        let (banks, rest) = (Banks::new(self.program, self.name.clone()), Arc::clone(&self.rest));
        let mut stream = YellowstoneStream { sink, updates, event_sender, banks };
        tokio::spawn(async move {
            let reason = stream.run().await;
            stream.event_sender.end(reason, &rest).await;
        });
        Ok(events)
    }

    fn unreachable(&self, error: &(dyn Error + 'static)) -> SourceError {
        SourceError::unreachable(&self.name, crtx_download::root_cause(error))
    }

    fn refused(&self, error: &GeyserGrpcClientError) -> SourceError {
        match error {
            GeyserGrpcClientError::TonicStatus(status) => of_status(&self.name, status),
            GeyserGrpcClientError::TransportError(error) => self.unreachable(error),
        }
    }
}

fn of_status(node: &str, status: &Status) -> SourceError {
    let (node, reason) = (node.to_owned(), shortened(status.message(), MAX_REASON_CHARS));
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument | Code::Unimplemented => {
            SourceError::SubscriptionRefused { node, reason }
        }
        _ => SourceError::Closed { node, reason },
    }
}

/// The program's accounts, the successful transactions that name it, and every slot.
fn request(program: &Pubkey) -> SubscribeRequest {
    let accounts = SubscribeRequestFilterAccounts { owner: vec![program.to_string()], ..Default::default() };
    let transactions = SubscribeRequestFilterTransactions {
        vote: Some(false),
        failed: Some(false),
        account_include: vec![program.to_string()],
        ..Default::default()
    };
    let slots = SubscribeRequestFilterSlots { filter_by_commitment: Some(false), interslot_updates: Some(true) };
    SubscribeRequest {
        accounts: [(FILTER.to_owned(), accounts)].into(),
        transactions: [(FILTER.to_owned(), transactions)].into(),
        slots: [(FILTER.to_owned(), slots)].into(),
        blocks_meta: [(FILTER.to_owned(), SubscribeRequestFilterBlocksMeta {})].into(),
        commitment: Some(CommitmentLevel::Confirmed.into()),
        ..Default::default()
    }
}

/// One subscription, over the connections that it takes.
struct YellowstoneStream {
    sink: SubscribeRequestSink,
    updates: ReconnectStream,
    event_sender: EventSender,
    banks: Banks,
}

impl YellowstoneStream {
    /// Forwards updates until the stream ends.
    async fn run(&mut self) -> SourceError {
        loop {
            let step = tokio::select! {
                biased;
                tick = self.event_sender.tick() => tick.and_then(|()| self.event_sender.check(true)),
                event = self.updates.next() => self.take(event).await,
            };
            if let Err(reason) = step {
                return reason;
            }
        }
    }

    async fn take(&mut self, event: Option<Result<ReconnectEvent, Status>>) -> Result<(), SourceError> {
        match event {
            None => {
                Err(SourceError::Closed { node: self.event_sender.node.clone(), reason: "the stream ended".to_owned() })
            }
            Some(Err(status)) => Err(of_status(&self.event_sender.node, &status)),
            Some(Ok(ReconnectEvent::Disconnected(lost))) if lost.replay_from_slot.is_none() => {
                let reason = "the connection was lost before a slot was confirmed".to_owned();
                Err(SourceError::Missed { node: self.event_sender.node.clone(), reason })
            }
            Some(Ok(ReconnectEvent::Disconnected(_))) => {
                self.banks.disconnected();
                Ok(())
            }
            Some(Ok(ReconnectEvent::Update(update))) => self.update(update).await,
        }
    }

    async fn update(&mut self, update: SubscribeUpdate) -> Result<(), SourceError> {
        match update.update_oneof {
            // Proxies end streams in which the client says nothing.
            Some(UpdateOneof::Ping(_)) => return self.answer_ping().await,
            Some(UpdateOneof::Pong(_)) => return Ok(()),
            _ => {}
        }
        self.event_sender.heard = 0;
        for event in self.banks.take(update)? {
            if let SourceEvent::Alive(slot) = event
                && slot > self.event_sender.slot
            {
                (self.event_sender.slot, self.event_sender.moved) = (slot, 0);
            }
            self.event_sender.send(event).await?;
        }
        Ok(())
    }

    async fn answer_ping(&mut self) -> Result<(), SourceError> {
        let ping = SubscribeRequest { ping: Some(SubscribeRequestPing { id: 1 }), ..Default::default() };
        // If the connection is lost, the stream says so next.
        let sent = self.sink.send(ping).map(|_| Ok(()));
        within(&self.event_sender.node, "a ping", self.event_sender.deadlines.answer, sent).await
    }
}
