//! The stream of changes over Yellowstone gRPC, against a server that a test scripts.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use crate::node::{Node, Reply, SHORT};
use crtx_mirror::source::{AccountSource, Change, Endpoints, Events, SourceError, SourceEvent, YellowstoneAddress};
use crtx_store::testing::fixtures::{program, wallet};
use futures::Stream;
use serde_json::json;
use subscribe_update::UpdateOneof;
use tokio::{
    net::TcpListener,
    sync::mpsc,
    time::{sleep, timeout},
};
use tonic::{Request, Response, Status, Streaming, transport::Server};
use yellowstone_grpc_proto::{geyser::geyser_server, prelude::*};

/// Far more than any deadline of a test.
const PATIENCE: Duration = Duration::from_secs(60);

type Updates = mpsc::UnboundedSender<Result<SubscribeUpdate, Status>>;
type BoxStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[derive(Default)]
struct NodeScript {
    open: Vec<Updates>,
    /// The first request of each subscription, and its token.
    subscribed: Vec<(SubscribeRequest, Option<String>)>,
    pings: u32,
    refuses: Option<Status>,
    hangs: bool,
}

/// A Yellowstone server.
#[derive(Clone, Default)]
struct Geyser(Arc<Mutex<NodeScript>>);

impl Geyser {
    async fn start() -> (Self, YellowstoneAddress) {
        let geyser = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound")).parse().expect("a URL");
        let connections = futures::stream::unfold(listener, |listener| async move {
            Some((listener.accept().await.map(|(connection, _)| connection), listener))
        });
        let service = geyser_server::GeyserServer::new(geyser.clone());
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(connections));
        (geyser, YellowstoneAddress { url, token: Some("token".to_owned()) })
    }

    fn script(&self) -> MutexGuard<'_, NodeScript> {
        self.0.lock().expect("no test panicked holding it")
    }

    fn send(&self, update: UpdateOneof) {
        // The client hides what only its own filter asked for.
        let update = SubscribeUpdate { filters: vec!["crtx".to_owned()], update_oneof: Some(update), created_at: None };
        self.script().open.retain(|updates| updates.send(Ok(update.clone())).is_ok());
    }

    fn fail(&self, status: &Status) {
        for updates in self.script().open.drain(..) {
            drop(updates.send(Err(status.clone())));
        }
    }

    fn account(&self, slot: u64, data: &[u8]) {
        let account = SubscribeUpdateAccountInfo {
            pubkey: wallet(1).to_bytes().to_vec(),
            owner: program().to_bytes().to_vec(),
            lamports: 1,
            data: data.to_vec(),
            ..Default::default()
        };
        self.send(UpdateOneof::Account(SubscribeUpdateAccount {
            account: Some(account),
            slot,
            bank_id: Some(slot),
            ..Default::default()
        }));
    }

    /// The end of a slot: its block meta and its confirmation.
    fn confirm(&self, slot: u64, parent: u64) {
        let meta = SubscribeUpdateBlockMeta { slot, parent_slot: parent, bank_id: slot, ..Default::default() };
        self.send(UpdateOneof::BlockMeta(meta));
        self.status(slot, parent, SlotStatus::SlotConfirmed);
    }

    fn status(&self, slot: u64, parent: u64, status: SlotStatus) {
        let status = status.into();
        self.send(UpdateOneof::Slot(SubscribeUpdateSlot { slot, parent: Some(parent), status, ..Default::default() }));
    }

    async fn until_subscribed(&self, times: usize) {
        let subscribed = async {
            while self.script().subscribed.len() < times {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, subscribed).await.expect("another subscription");
    }
}

#[tonic::async_trait]
impl geyser_server::Geyser for Geyser {
    type SubscribeStream = BoxStream<SubscribeUpdate>;
    type SubscribeDeshredStream = BoxStream<SubscribeUpdateDeshred>;
    type SubscribeGossipStream = BoxStream<SubscribeUpdateGossip>;

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let token = request.metadata().get("x-token").map(|token| token.to_str().expect("text").to_owned());
        let (refuses, hangs) = {
            let script = self.script();
            (script.refuses.clone(), script.hangs)
        };
        if hangs {
            let () = std::future::pending().await;
        }
        if let Some(status) = refuses {
            return Err(status);
        }
        let mut requests = request.into_inner();
        let first = requests.message().await?.expect("a request");
        let (updates, mut waiting) = mpsc::unbounded_channel();
        let mut script = self.script();
        script.subscribed.push((first, token));
        script.open.push(updates);
        let geyser = self.clone();
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                geyser.script().pings += u32::from(request.ping.is_some());
            }
        });
        let updates = futures::stream::poll_fn(move |context| waiting.poll_recv(context));
        Ok(Response::new(Box::pin(updates)))
    }

    async fn get_latest_blockhash(
        &self,
        _: Request<GetLatestBlockhashRequest>,
    ) -> Result<Response<GetLatestBlockhashResponse>, Status> {
        Ok(Response::new(GetLatestBlockhashResponse { blockhash: "a blockhash".to_owned(), ..Default::default() }))
    }

    async fn subscribe_deshred(
        &self,
        _: Request<Streaming<SubscribeDeshredRequest>>,
    ) -> Result<Response<Self::SubscribeDeshredStream>, Status> {
        Err(Status::unimplemented("not scripted"))
    }

    async fn subscribe_gossip(
        &self,
        _: Request<SubscribeGossipRequest>,
    ) -> Result<Response<Self::SubscribeGossipStream>, Status> {
        Err(Status::unimplemented("not scripted"))
    }

    async fn subscribe_replay_info(
        &self,
        _: Request<SubscribeReplayInfoRequest>,
    ) -> Result<Response<SubscribeReplayInfoResponse>, Status> {
        Ok(Response::new(SubscribeReplayInfoResponse { first_available: Some(7) }))
    }

    async fn ping(&self, _: Request<PingRequest>) -> Result<Response<PongResponse>, Status> {
        Err(Status::unimplemented("not scripted"))
    }

    async fn get_block_height(
        &self,
        _: Request<GetBlockHeightRequest>,
    ) -> Result<Response<GetBlockHeightResponse>, Status> {
        Err(Status::unimplemented("not scripted"))
    }

    async fn get_slot(&self, _: Request<GetSlotRequest>) -> Result<Response<GetSlotResponse>, Status> {
        Err(Status::unimplemented("not scripted"))
    }

    async fn is_blockhash_valid(
        &self,
        _: Request<IsBlockhashValidRequest>,
    ) -> Result<Response<IsBlockhashValidResponse>, Status> {
        Err(Status::unimplemented("not scripted"))
    }

    async fn get_version(&self, _: Request<GetVersionRequest>) -> Result<Response<GetVersionResponse>, Status> {
        Err(Status::unimplemented("not scripted"))
    }
}

/// A node that knows the blockhash of the server, or does not.
async fn node_of_the_same_chain(same: bool) -> Node {
    let node = Node::start().await;
    node.on("isBlockhashValid", move |params| {
        assert_eq!(params[0], "a blockhash");
        Reply::Result(json!({"context": {"slot": 100}, "value": same}))
    });
    node
}

struct Market {
    geyser: Geyser,
    node: Node,
    source: Endpoints,
    address: YellowstoneAddress,
}

impl Market {
    async fn open() -> Self {
        Self::open_at(node_of_the_same_chain(true).await).await
    }

    async fn open_at(node: Node) -> Self {
        let (geyser, address) = Geyser::start().await;
        let source = Endpoints::new(std::slice::from_ref(&node.urls), Some(&address), program(), SHORT);
        Self { geyser, node, source: source.expect("endpoints"), address }
    }

    /// Subscribed, at slot 10, from where the stream is complete.
    async fn begun() -> (Self, Events) {
        let market = Self::open().await;
        let events = market.source.subscribe().await.expect("subscribed");
        assert_eq!(market.source.name(), host(&market.address));
        market.geyser.confirm(10, 9);
        (market, events)
    }
}

fn host(address: &YellowstoneAddress) -> String {
    format!("127.0.0.1:{}", address.url.port().expect("a port"))
}

/// The next event that is no sign of life.
async fn next(events: &mut Events) -> Option<Result<SourceEvent, SourceError>> {
    loop {
        let event = timeout(PATIENCE, events.recv()).await.expect("an event, or the end of the stream");
        if !matches!(event, Some(Ok(SourceEvent::Alive(_)))) {
            return event;
        }
    }
}

async fn end(events: &mut Events) -> SourceError {
    loop {
        if let Err(reason) = next(events).await.expect("a reason before the end") {
            assert!(events.recv().await.is_none(), "the reason is the last item");
            return reason;
        }
    }
}

fn change(slot: u64, data: &[u8]) -> Option<Result<SourceEvent, SourceError>> {
    Some(Ok(SourceEvent::Change(Change { address: wallet(1), slot, data: Some(data.to_vec()) })))
}

fn reached(slot: u64) -> Option<Result<SourceEvent, SourceError>> {
    Some(Ok(SourceEvent::Reached(slot)))
}

#[tokio::test]
async fn a_slot_is_reached_after_its_changes() {
    let (market, mut events) = Market::begun().await;
    market.geyser.account(11, b"account a");
    market.geyser.confirm(11, 10);
    market.geyser.account(13, b"account b");
    market.geyser.confirm(13, 11);
    for expected in [change(11, b"account a"), reached(11), change(13, b"account b"), reached(13)] {
        assert_eq!(next(&mut events).await, expected);
    }
    let (request, token) = market.geyser.script().subscribed[0].clone();
    assert_eq!(token.as_deref(), Some("token"));
    assert_eq!(request.commitment, Some(CommitmentLevel::Confirmed.into()));
    assert_eq!(request.accounts["crtx"].owner, [program().to_string()]);
    assert_eq!(market.node.script().connections, 0, "no WebSocket is opened");
    assert_eq!(market.source.replays_from().await, Some(7));
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_goes_on_where_it_was() {
    let (market, mut events) = Market::begun().await;
    market.geyser.confirm(11, 10);
    market.geyser.account(12, b"account a");
    assert_eq!(next(&mut events).await, reached(11));
    assert_eq!(next(&mut events).await, change(12, b"account a"));
    market.geyser.fail(&Status::unavailable("restarting"));
    market.geyser.until_subscribed(2).await;
    let (request, _) = market.geyser.script().subscribed[1].clone();
    assert_eq!(request.from_slot, Some(11), "from the last confirmed slot");
    market.geyser.confirm(11, 10);
    market.geyser.account(12, b"account a");
    market.geyser.account(12, b"account b");
    market.geyser.confirm(12, 11);
    for expected in [change(12, b"account a"), change(12, b"account b"), reached(12)] {
        assert_eq!(next(&mut events).await, expected);
    }
}

#[tokio::test]
async fn a_connection_that_is_lost_before_a_confirmed_slot_may_have_missed_changes() {
    let market = Market::open().await;
    let mut events = market.source.subscribe().await.expect("subscribed");
    market.geyser.account(12, b"account a");
    assert_eq!(next(&mut events).await, change(12, b"account a"));
    market.geyser.fail(&Status::unavailable("restarting"));
    let reason = end(&mut events).await;
    assert!(matches!(reason, SourceError::Missed { .. }), "{reason}");
}

#[tokio::test]
async fn a_silent_stream_ends_although_it_pings() {
    let (market, mut events) = Market::begun().await;
    let geyser = market.geyser.clone();
    let pings = tokio::spawn(async move {
        loop {
            geyser.send(UpdateOneof::Ping(SubscribeUpdatePing {}));
            sleep(Duration::from_millis(50)).await;
        }
    });
    let reason = end(&mut events).await;
    pings.abort();
    assert!(matches!(reason, SourceError::Silent { .. }), "{reason}");
    assert!(market.geyser.script().pings > 0, "pings are answered");
}

#[tokio::test]
async fn a_slot_that_stands_still_ends_the_stream() {
    let (market, mut events) = Market::begun().await;
    let geyser = market.geyser.clone();
    let still = tokio::spawn(async move {
        loop {
            geyser.status(10, 9, SlotStatus::SlotProcessed);
            sleep(Duration::from_millis(50)).await;
        }
    });
    let reason = end(&mut events).await;
    still.abort();
    assert!(matches!(reason, SourceError::StandsStill { slot: 10, .. }), "{reason}");
}

#[tokio::test]
async fn the_websocket_takes_over_while_the_server_refuses_or_says_nothing() {
    for hangs in [false, true] {
        let market = Market::open().await;
        market.geyser.script().hangs = hangs;
        market.geyser.script().refuses = Some(Status::unauthenticated("no such token"));
        let _events = timeout(PATIENCE, market.source.subscribe()).await.expect("in time").expect("subscribed");
        assert_eq!(market.source.name(), market.node.name());
        assert_eq!(market.node.script().connections, 1);
        assert_eq!(market.source.replays_from().await, None);
        market.geyser.script().hangs = false;
        market.geyser.script().refuses = None;
        timeout(PATIENCE, market.source.better()).await.expect("it is asked again");
        let _events = market.source.subscribe().await.expect("subscribed");
        assert_eq!(market.source.name(), host(&market.address), "and it is used again");
        assert_eq!(market.geyser.script().subscribed.len(), 1, "over the stream that was found");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_or_takes_bytes_and_says_nothing_is_given_up() {
    let node = node_of_the_same_chain(true).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let half_open = format!("http://{}", listener.local_addr().expect("bound"));
    for url in [half_open.as_str(), "http://127.0.0.1:1", "https://127.0.0.1:1"] {
        let address = YellowstoneAddress { url: url.parse().expect("a URL"), token: None };
        let source = Endpoints::new(std::slice::from_ref(&node.urls), Some(&address), program(), SHORT);
        let source = source.expect("endpoints");
        let _events = timeout(PATIENCE, source.subscribe()).await.expect("in time").expect("subscribed");
        assert_eq!(source.name(), node.name());
    }
}

#[tokio::test]
async fn a_server_of_another_chain_is_not_followed() {
    let market = Market::open_at(node_of_the_same_chain(false).await).await;
    let _events = market.source.subscribe().await.expect("subscribed");
    assert_eq!(market.source.name(), market.node.name());
    assert_eq!(market.geyser.script().subscribed.len(), 0);
}

#[tokio::test]
async fn the_token_and_the_path_are_not_shown() {
    let address = YellowstoneAddress {
        url: "https://a.example/secret".parse().expect("a URL"),
        token: Some("secret".to_owned()),
    };
    assert_eq!(format!("{address:?}"), "a.example");
}
