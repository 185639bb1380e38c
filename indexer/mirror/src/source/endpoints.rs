//! Several endpoints as one source: the preferred one first, the next one while that fails, and another one for a
//! second look.
//!
//! An endpoint of another chain is not mixed with the others. Another genesis is believed only if every endpoint tells
//! it; then the reader of this source decides.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use crtx_chain::past::SignatureInfo;
use parking_lot::Mutex;
use solana_pubkey::Pubkey;
use tokio::{sync::mpsc, time::sleep};

use super::{
    AccountSource, At, Events, Read, Snapshot,
    deadlines::Deadlines,
    endpoint::{Endpoint, EndpointUrls, Rest},
    error::SourceError,
    snapshot::{self, Sink},
    websocket,
    yellowstone::{Yellowstone, YellowstoneAddress},
};

/// Pages of a snapshot that wait for their reader.
const PAGES_WAITING: usize = 2;
/// Pause before endpoints that are behind are asked again.
const BEHIND_PAUSE: Duration = Duration::from_millis(100);

/// Nodes of one network. Cheap to clone: clones share everything.
#[derive(Clone)]
pub struct Endpoints {
    shared: Arc<SharedEndpoints>,
    /// A witness, and its counterpart, use one endpoint alone.
    only: Option<usize>,
}

struct SharedEndpoints {
    all: Vec<Arc<Endpoint>>,
    /// Streams, if it is configured and works. Everything else comes from the endpoints.
    yellowstone: Option<Yellowstone>,
    /// The changes come from there now.
    over_grpc: AtomicBool,
    /// A stream over gRPC that replaces one over a WebSocket.
    replacement: Mutex<Option<Events>>,
    /// The endpoint that streams, which is asked first.
    active: AtomicUsize,
    /// The genesis hash of the chain that the mirror follows.
    chain: Mutex<Option<String>>,
    patience: Duration,
    /// While a WebSocket stands in for gRPC.
    retry_grpc: Duration,
}

/// Selects the pauses that count for a purpose.
type Purpose = fn(&Endpoint) -> &Rest;

const ANSWERS: Purpose = |endpoint| &endpoint.answers;

impl Endpoints {
    /// The preferred endpoint first. The changes come over gRPC while that works, and from the endpoints' WebSockets
    /// otherwise.
    pub fn new(
        urls: &[EndpointUrls],
        yellowstone: Option<&YellowstoneAddress>,
        program: Pubkey,
        deadlines: Deadlines,
    ) -> Result<Self, SourceError> {
        let all = urls.iter().map(|urls| Endpoint::new(urls, program, deadlines).map(Arc::new));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(SourceError::unreachable("?", "no endpoint is configured"));
        }
        let yellowstone = yellowstone.map(|address| Yellowstone::new(address, program, deadlines));
        let (active, over_grpc, chain) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::default());
        let shared = SharedEndpoints {
            all,
            yellowstone,
            over_grpc,
            replacement: Mutex::default(),
            active,
            chain,
            patience: deadlines.answer,
            retry_grpc: deadlines.still,
        };
        Ok(Self { shared: Arc::new(shared), only: None })
    }

    fn active(&self) -> usize {
        self.only.unwrap_or_else(|| self.shared.active.load(Ordering::Relaxed))
    }

    /// One endpoint as a source of its own.
    fn alone(&self, index: usize) -> Arc<dyn AccountSource> {
        Arc::new(Self { shared: Arc::clone(&self.shared), only: Some(index) })
    }

    fn chain(&self) -> Option<String> {
        self.shared.chain.lock().clone()
    }

    fn set_chain(&self, genesis: Option<String>) {
        *self.shared.chain.lock() = genesis;
    }

    /// The endpoints to use, best first: those that do not rest, else the one whose rest ends first.
    fn candidates(&self, first: Option<usize>, purpose: Purpose) -> Vec<(usize, Arc<Endpoint>)> {
        let all = self.shared.all.iter().cloned().enumerate();
        let mut all: Vec<_> = all.filter(|(index, _)| self.only.is_none_or(|only| only == *index)).collect();
        all.sort_by_key(|(index, _)| Some(*index) != first);
        let soonest = all.iter().map(|(_, endpoint)| purpose(endpoint).left()).min().unwrap_or_default();
        all.retain(|(_, endpoint)| purpose(endpoint).left() <= soonest);
        all
    }

    /// Compares the chain of an endpoint with that of the others. The first endpoint that answers sets it. An endpoint
    /// that belonged to another chain is asked again: somebody may have put it right.
    async fn check_chain(&self, endpoint: &Endpoint, now: bool) -> Result<(), SourceError> {
        let expected = self.chain();
        let fits = |genesis: &String| !now && expected.as_ref().is_none_or(|expected| expected == genesis);
        let genesis = match endpoint.known_genesis().filter(fits) {
            Some(genesis) => genesis,
            None => endpoint.genesis_hash().await?,
        };
        match expected {
            Some(expected) if expected != genesis => {
                let error = SourceError::OtherGenesis { node: endpoint.name.clone(), genesis, expected };
                endpoint.answers.failed(Some(&error));
                return Err(error);
            }
            Some(_) => {}
            None => self.set_chain(Some(genesis)),
        }
        Ok(())
    }

    /// Forgets the chain if every endpoint tells another one now.
    async fn forget_chain(&self) -> bool {
        for endpoint in &self.shared.all {
            if !matches!(self.check_chain(endpoint, true).await, Err(SourceError::OtherGenesis { .. })) {
                return false;
            }
        }
        self.set_chain(None);
        true
    }

    /// Asks one endpoint after the other. If all are behind, they are asked again for a while.
    async fn ask<T, F>(&self, purpose: Purpose, question: impl Fn(Arc<Endpoint>) -> F) -> Result<T, SourceError>
    where
        F: Future<Output = Result<T, SourceError>>,
    {
        self.ask_until(&AtomicBool::new(false), purpose, question).await
    }

    /// The same, and no other endpoint is asked once the question is `settled`.
    async fn ask_until<T, F>(
        &self,
        settled: &AtomicBool,
        purpose: Purpose,
        question: impl Fn(Arc<Endpoint>) -> F,
    ) -> Result<T, SourceError>
    where
        F: Future<Output = Result<T, SourceError>>,
    {
        let started = Instant::now();
        loop {
            let mut reason = SourceError::StreamEnded;
            for (index, endpoint) in self.candidates(Some(self.active()), purpose) {
                let asked = match self.check_other(index, &endpoint).await {
                    Ok(()) => question(Arc::clone(&endpoint)).await,
                    Err(error) => Err(error),
                };
                purpose(&endpoint).note(asked.as_ref().err());
                match asked {
                    Ok(answer) => return Ok(answer),
                    Err(error) if settled.load(Ordering::Relaxed) => return Err(error),
                    Err(error) => reason = more_telling(reason, error),
                }
            }
            if !matches!(reason, SourceError::Behind { .. }) || started.elapsed() >= self.shared.patience {
                return Err(reason);
            }
            sleep(BEHIND_PAUSE).await;
        }
    }

    /// The chain of the active endpoint is checked when the stream begins, and by the reader.
    async fn check_other(&self, index: usize, endpoint: &Endpoint) -> Result<(), SourceError> {
        let is_active = index == self.shared.active.load(Ordering::Relaxed);
        if is_active { Ok(()) } else { self.check_chain(endpoint, false).await }
    }

    /// `None`: the stream comes from a WebSocket.
    async fn try_yellowstone(&self) -> Option<Events> {
        let yellowstone = self.shared.yellowstone.as_ref().filter(|_| self.only.is_none())?;
        let replacement = self.shared.replacement.lock().take();
        if replacement.is_some() || !yellowstone.rest.left().is_zero() {
            return replacement;
        }
        let subscribed = async {
            let mut client = yellowstone.connect().await?;
            let blockhash = yellowstone.recent_blockhash(&mut client).await?;
            self.check_blockhash(yellowstone, &blockhash).await?;
            yellowstone.subscribe(client).await
        };
        let subscribed = subscribed.await;
        yellowstone.rest.note(subscribed.as_ref().err());
        subscribed.inspect_err(|error| tracing::warn!(cause = %error, "Yellowstone does not stream")).ok()
    }

    /// gRPC has no genesis hash. A blockhash that the endpoints know is from the same chain.
    async fn check_blockhash(&self, yellowstone: &Yellowstone, blockhash: &str) -> Result<(), SourceError> {
        let started = Instant::now();
        loop {
            let ask = |endpoint: Arc<Endpoint>| async move { endpoint.knows_blockhash(blockhash).await };
            if self.ask(ANSWERS, ask).await? {
                return Ok(());
            }
            if started.elapsed() >= self.shared.patience {
                let genesis = format!("of the blockhash {blockhash}");
                let expected = self.chain().unwrap_or_else(|| "another".to_owned());
                return Err(SourceError::OtherGenesis { node: yellowstone.name.clone(), genesis, expected });
            }
            sleep(BEHIND_PAUSE).await;
        }
    }

    async fn try_subscribe(&self) -> Result<Events, SourceError> {
        let mut reason = SourceError::StreamEnded;
        for (index, endpoint) in self.candidates(None, |endpoint| &endpoint.stream) {
            let Some(url) = &endpoint.websocket else { continue };
            let subscribed = match self.check_chain(&endpoint, true).await {
                Ok(()) => websocket::subscribe(Arc::clone(&endpoint), url).await,
                Err(error) => Err(error),
            };
            endpoint.stream.note(subscribed.as_ref().err());
            match subscribed {
                Ok(events) => {
                    self.activate(index);
                    return Ok(events);
                }
                Err(error) => {
                    tracing::warn!(cause = %error, "an endpoint does not stream");
                    reason = more_telling(reason, error);
                }
            }
        }
        Err(reason)
    }

    fn activate(&self, index: usize) {
        if self.only.is_none() && self.shared.active.swap(index, Ordering::Relaxed) != index {
            tracing::warn!(node = self.name(), "the changes come from another endpoint now");
        }
    }
}

/// Of the errors of several endpoints, the first one is shown, and "behind" only if nothing else is wrong.
fn more_telling(before: SourceError, error: SourceError) -> SourceError {
    match before {
        SourceError::StreamEnded | SourceError::Behind { .. } => error,
        before => before,
    }
}

#[async_trait]
impl AccountSource for Endpoints {
    fn name(&self) -> String {
        if self.only.is_none()
            && let Some(yellowstone) = &self.shared.yellowstone
            && self.shared.over_grpc.load(Ordering::Relaxed)
        {
            return yellowstone.name.clone();
        }
        self.shared.all.get(self.active()).map_or_else(String::new, |endpoint| endpoint.name.clone())
    }

    async fn subscribe(&self) -> Result<Events, SourceError> {
        let over_grpc = self.try_yellowstone().await;
        if self.only.is_none() {
            self.shared.over_grpc.store(over_grpc.is_some(), Ordering::Relaxed);
        }
        if let Some(events) = over_grpc {
            return Ok(events);
        }
        match self.try_subscribe().await {
            Err(SourceError::OtherGenesis { .. }) if self.forget_chain().await => self.try_subscribe().await,
            subscribed => subscribed,
        }
    }

    async fn snapshot(&self, at: At, min_slot: u64) -> Result<Snapshot, SourceError> {
        let (items, snapshot) = mpsc::channel(PAGES_WAITING);
        let endpoints = self.clone();
        tokio::spawn(async move {
            let sink = Sink { items, delivered: AtomicBool::new(false) };
            let read = |endpoint: Arc<Endpoint>| {
                let sink = &sink;
                async move { snapshot::read(&endpoint, at, min_slot, sink).await }
            };
            // What was delivered cannot be taken back, so no other endpoint goes on.
            if let Err(error) = endpoints.ask_until(&sink.delivered, |endpoint| &endpoint.snapshots, read).await {
                // A reader that has left needs nothing more.
                drop(sink.items.send(Err(error)).await);
            }
        });
        Ok(snapshot)
    }

    async fn read(&self, addresses: &[Pubkey], at: At, min_slot: u64) -> Result<Read, SourceError> {
        let ask = |endpoint: Arc<Endpoint>| async move { endpoint.accounts(addresses, at, min_slot).await };
        self.ask(ANSWERS, ask).await
    }

    async fn slot(&self, at: At) -> Result<u64, SourceError> {
        self.ask(ANSWERS, |endpoint| async move { endpoint.slot(at).await }).await
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        let genesis = self.ask(ANSWERS, |endpoint| async move { endpoint.genesis_hash().await }).await?;
        let Some(expected) = self.chain() else {
            self.set_chain(Some(genesis.clone()));
            return Ok(genesis);
        };
        if expected == genesis || self.only.is_some() || self.forget_chain().await {
            return Ok(genesis);
        }
        Err(SourceError::OtherGenesis { node: self.name(), genesis, expected })
    }

    async fn transactions_after(
        &self,
        after: Option<&str>,
        min_slot: u64,
    ) -> Result<Option<Vec<SignatureInfo>>, SourceError> {
        let ask = |endpoint: Arc<Endpoint>| async move { endpoint.transactions_after(after, min_slot).await };
        self.ask(ANSWERS, ask).await
    }

    async fn written_by(&self, signature: &str) -> Result<Option<Vec<Pubkey>>, SourceError> {
        self.ask(ANSWERS, |endpoint| async move { endpoint.written_by(signature).await }).await
    }

    async fn better(&self) {
        if self.shared.over_grpc.load(Ordering::Relaxed) {
            std::future::pending().await
        }
        let events = loop {
            sleep(self.shared.retry_grpc).await;
            if let Some(events) = self.try_yellowstone().await {
                break events;
            }
        };
        *self.shared.replacement.lock() = Some(events);
    }

    async fn replays_from(&self) -> Option<u64> {
        match &self.shared.yellowstone {
            Some(yellowstone) if self.shared.over_grpc.load(Ordering::Relaxed) => yellowstone.replays_from().await,
            _ => None,
        }
    }

    fn expect_chain(&self, genesis: &str) {
        self.set_chain(Some(genesis.to_owned()));
    }

    fn preferred(&self) -> Option<Arc<dyn AccountSource>> {
        let several = self.only.is_none() && self.shared.all.len() > 1;
        several.then(|| self.alone(self.active()))
    }

    fn unusable(&self) -> Vec<String> {
        self.shared.all.iter().filter_map(|endpoint| endpoint.answers.reason()).collect()
    }

    async fn ask_unusable_again(&self) {
        for endpoint in &self.shared.all {
            let rest = &endpoint.answers;
            if rest.reason().is_some() && rest.left().is_zero() {
                rest.note(self.check_chain(endpoint, true).await.as_ref().err());
            }
        }
    }

    fn witness(&self) -> Option<Arc<dyn AccountSource>> {
        let active = self.active();
        let others = self.shared.all.iter().enumerate().filter(|(index, _)| *index != active && self.only.is_none());
        let (index, _) = others.min_by_key(|(_, endpoint)| endpoint.answers.left())?;
        Some(self.alone(index))
    }
}
