//! One endpoint: where a node answers and streams, what is known about it, and when it may be used again.

use std::{
    sync::atomic::{AtomicBool, AtomicU64},
    time::{Duration, Instant},
};

use crtx_chain::RpcUrls;
use parking_lot::Mutex;
use reqwest::Client;
use solana_pubkey::Pubkey;
use url::Url;

use super::{deadlines::Deadlines, error::SourceError};
use crate::pauses::doubled;

/// First pause after a failure. Each further failure in a row doubles it, up to the longest.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

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
        let unusable = |reason: &str| SourceError::unreachable("?", reason);
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

pub(super) struct Endpoint {
    /// Host and port of `url`.
    pub name: String,
    /// Where the node answers JSON-RPC. It may carry a provider's key, so it is not shown.
    pub url: Url,
    pub client: Client,
    /// Of the next request to `url`.
    pub next_id: AtomicU64,
    pub deadlines: Deadlines,
    pub websocket: Option<Url>,
    pub program: Pubkey,
    /// `getProgramAccountsV2` does not exist there.
    pub no_pages: AtomicBool,
    /// A single `getProgramAccounts` failed, or lists too much.
    pub by_kind: AtomicBool,
    /// Pauses after failures, for each purpose: a node whose stream is silent may still answer.
    pub answers: Rest,
    pub stream: Rest,
    pub snapshots: Rest,
    pub genesis: Mutex<Option<String>>,
}

impl Endpoint {
    pub(super) fn new(urls: &EndpointUrls, program: Pubkey, deadlines: Deadlines) -> Result<Self, SourceError> {
        let name = crtx_chain::urls::host(urls.http.as_str());
        let client = crtx_chain::http_client(deadlines.connect);
        let client = client.map_err(|error| SourceError::unreachable(&name, error.to_string()))?;
        Ok(Self {
            name,
            url: urls.http.clone(),
            client,
            next_id: AtomicU64::new(1),
            deadlines,
            websocket: urls.websocket.clone(),
            program,
            no_pages: AtomicBool::default(),
            by_kind: AtomicBool::default(),
            answers: Rest::default(),
            stream: Rest::default(),
            snapshots: Rest::default(),
            genesis: Mutex::default(),
        })
    }

    /// The genesis hash that the node said last.
    pub(super) fn known_genesis(&self) -> Option<String> {
        self.genesis.lock().clone()
    }
}

/// The pause of one endpoint for one purpose.
#[derive(Debug, Default)]
pub(super) struct Rest(Mutex<RestState>);

#[derive(Debug, Default)]
struct RestState {
    failures: u32,
    until: Option<Instant>,
    /// Why it failed last, if that is known.
    reason: Option<String>,
}

impl Rest {
    /// Notes how a use ended. One that is behind, or refuses a request, does not rest: it answered.
    pub(super) fn note(&self, error: Option<&SourceError>) {
        match error {
            None => *self.0.lock() = RestState::default(),
            Some(SourceError::Behind { .. } | SourceError::Refused { .. } | SourceError::StreamEnded) => {}
            // Noted where the chain was checked.
            Some(SourceError::OtherGenesis { .. }) if self.reason().is_some() => {}
            Some(error) => self.failed(Some(error)),
        }
    }

    /// `reason` is `None` for a stream that worked before it ended: that says nothing about the endpoint.
    pub(super) fn failed(&self, reason: Option<&SourceError>) {
        let mut state = self.0.lock();
        let pause = doubled(SHORTEST, state.failures, LONGEST);
        state.failures = state.failures.saturating_add(1);
        state.until = Instant::now().checked_add(pause);
        state.reason = reason.map(ToString::to_string).or(state.reason.take());
    }

    /// Why it failed last; `None` if it succeeded since.
    pub(super) fn reason(&self) -> Option<String> {
        self.0.lock().reason.clone()
    }

    /// Time until the endpoint may be used. Zero: now.
    pub(super) fn left(&self) -> Duration {
        let until = self.0.lock().until;
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_a_success() {
        let rest = Rest::default();
        assert_eq!(rest.left(), Duration::ZERO);
        let silent = SourceError::Silent { node: "node".to_owned(), after: LONGEST };
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                rest.note(Some(&silent));
                // The part of a second that has passed since counts as a whole one.
                rest.left().as_secs() + 1
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        rest.note(Some(&SourceError::StreamEnded));
        assert!(!rest.left().is_zero() && rest.reason().is_some());
        rest.note(None);
        assert_eq!((rest.left(), rest.reason()), (Duration::ZERO, None));
    }
}
