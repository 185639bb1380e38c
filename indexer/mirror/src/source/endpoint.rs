//! One endpoint as a source: a node's JSON-RPC and its WebSocket.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use async_trait::async_trait;
use crtx_chain::{FetchedAccount, RpcUrls};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use tokio::sync::mpsc;
use url::Url;

use super::{
    AccountSource, At, Events, OwnedAccount, ProgramTransaction, Read, Snapshot,
    deadlines::Deadlines,
    error::SourceError,
    http::{self, HttpNode},
    reads,
    rest::Rest,
    snapshot::{Reading, Sink, Ways},
    websocket::{self, Target},
};

/// Pages of a snapshot that wait for their reader.
pub(super) const PAGES_WAITING: usize = 2;

/// Where a node answers.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrls {
    pub http: Url,
    /// `None`: the node offers no stream.
    pub websocket: Option<Url>,
}

impl EndpointUrls {
    /// One endpoint for each RPC node. `websockets` are URLs with commas between them, the first for the first node and
    /// so on; the nodes that are left offer no stream.
    pub fn pairs(rpc_urls: &RpcUrls, websockets: &str) -> Result<Vec<Self>, SourceError> {
        let unusable = |reason: &str| SourceError::Unreachable { node: "?".to_owned(), reason: reason.to_owned() };
        let parsed = websockets.split(',').map(str::trim).filter(|url| !url.is_empty()).map(Url::parse);
        let parsed = parsed.collect::<Result<Vec<_>, _>>().map_err(|_| unusable("a WebSocket URL is none"))?;
        let mut websockets = parsed.into_iter();
        let pairs = rpc_urls.iter().map(|url| {
            let http = Url::parse(url).map_err(|_| unusable("the URL of an RPC node is none"))?;
            Ok(Self { http, websocket: websockets.next() })
        });
        let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
        match websockets.next() {
            Some(_) => Err(unusable("there are more WebSocket URLs than RPC nodes")),
            None => Ok(pairs),
        }
    }
}

/// Cheap to clone: clones share connections and what is known about the node.
#[derive(Clone)]
pub(super) struct Endpoint {
    shared: Arc<Shared>,
}

struct Shared {
    http: Arc<HttpNode>,
    websocket: Option<Url>,
    program: Pubkey,
    ways: Ways,
    rests: Rests,
    /// What the node said last.
    genesis: Mutex<Option<String>>,
}

/// Pauses after failures, for each purpose: a node whose stream is silent may still answer.
#[derive(Default)]
pub(super) struct Rests {
    pub answers: Rest,
    pub stream: Rest,
    pub snapshots: Rest,
}

impl Endpoint {
    pub(super) fn new(urls: &EndpointUrls, program: Pubkey, deadlines: Deadlines) -> Result<Self, SourceError> {
        let http = Arc::new(HttpNode::new(&urls.http, deadlines)?);
        let websocket = urls.websocket.clone();
        let (ways, rests, genesis) = (Ways::default(), Rests::default(), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { http, websocket, program, ways, rests, genesis }) })
    }

    pub(super) fn rests(&self) -> &Rests {
        &self.shared.rests
    }

    pub(super) fn streams(&self) -> bool {
        self.shared.websocket.is_some()
    }

    /// The genesis hash that the node said before, or says now.
    pub(super) async fn known_genesis(&self) -> Result<String, SourceError> {
        let known = self.shared.genesis.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(known) => Ok(known),
            None => self.genesis_hash().await,
        }
    }

    /// Whether the node's chain has this blockhash among its newest.
    pub(super) async fn knows_blockhash(&self, blockhash: &str) -> Result<bool, SourceError> {
        reads::knows_blockhash(&self.shared.http, blockhash).await
    }

    /// Reads a snapshot into `sink`. The last item, [`super::SnapshotItem::End`] or the error, is left to the caller
    /// if it is an error.
    pub(super) async fn read_snapshot(&self, at: At, min_slot: u64, sink: &mut Sink) -> Result<(), SourceError> {
        self.reading(at, min_slot, sink).run().await
    }

    /// The same for what changed since a slot. `false`: the node does not offer it.
    pub(super) async fn read_changed(
        &self,
        since: u64,
        at: At,
        min_slot: u64,
        sink: &mut Sink,
    ) -> Result<bool, SourceError> {
        self.reading(at, min_slot, sink).run_since(since).await
    }

    fn reading<'a>(&'a self, at: At, min_slot: u64, sink: &'a mut Sink) -> Reading<'a> {
        let Shared { http, program, ways, .. } = self.shared.as_ref();
        let left = http.deadlines.snapshot;
        Reading { node: http, program: *program, at, min_slot, ways, sink, left, lowest: None, accounts: 0 }
    }
}

#[async_trait]
impl AccountSource for Endpoint {
    fn name(&self) -> String {
        self.shared.http.name.clone()
    }

    async fn subscribe(&self) -> Result<Events, SourceError> {
        let shared = Arc::clone(&self.shared);
        let node = || self.name();
        let Some(url) = &shared.websocket else {
            return Err(SourceError::SubscriptionRefused { node: node(), reason: "it has no WebSocket".to_owned() });
        };
        let target = Target {
            url: url.to_string(),
            node: http::host(url),
            program: shared.program,
            deadlines: shared.http.deadlines,
            http: Arc::clone(&shared.http),
        };
        let ended = Arc::clone(&self.shared);
        websocket::subscribe(target, move |_| ended.rests.stream.failed(Instant::now())).await
    }

    async fn snapshot(&self, at: At, min_slot: u64) -> Result<Snapshot, SourceError> {
        let (items, snapshot) = mpsc::channel(PAGES_WAITING);
        let endpoint = self.clone();
        tokio::spawn(async move {
            let mut sink = Sink::new(items);
            if let Err(error) = endpoint.read_snapshot(at, min_slot, &mut sink).await {
                sink.send(Err(error)).await;
            }
        });
        Ok(snapshot)
    }

    async fn read(&self, addresses: &[Pubkey], at: At, min_slot: u64) -> Result<Read, SourceError> {
        let answer = reads::accounts(&self.shared.http, addresses, at, min_slot).await?;
        let owned = |account: FetchedAccount| OwnedAccount { owner: account.owner, data: account.data };
        Ok(Read { slot: answer.slot, accounts: answer.value.into_iter().map(|account| account.map(owned)).collect() })
    }

    async fn slot(&self, at: At) -> Result<u64, SourceError> {
        reads::slot(&self.shared.http, at).await
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        let genesis = reads::genesis_hash(&self.shared.http).await?;
        *self.shared.genesis.lock().unwrap_or_else(PoisonError::into_inner) = Some(genesis.clone());
        Ok(genesis)
    }

    async fn transactions_after(
        &self,
        after: Option<Signature>,
        min_slot: u64,
    ) -> Result<Option<Vec<ProgramTransaction>>, SourceError> {
        reads::transactions_after(&self.shared.http, &self.shared.program, after, min_slot).await
    }

    async fn written_by(&self, signature: &Signature) -> Result<Option<Vec<Pubkey>>, SourceError> {
        reads::written_by(&self.shared.http, signature).await
    }
}
