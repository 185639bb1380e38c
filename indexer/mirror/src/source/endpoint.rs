//! One endpoint: a node's JSON-RPC and its WebSocket, and what is known about it.

use std::sync::{Mutex, PoisonError, atomic::AtomicBool};

use crtx_chain::RpcUrls;
use solana_pubkey::Pubkey;
use url::Url;

use super::{deadlines::Deadlines, error::SourceError, http::HttpNode, rest::Rest};

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
    pub http: HttpNode,
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
    genesis: Mutex<Option<String>>,
}

impl Endpoint {
    pub(super) fn new(urls: &EndpointUrls, program: Pubkey, deadlines: Deadlines) -> Result<Self, SourceError> {
        let http = HttpNode::new(&urls.http, deadlines)?;
        Ok(Self {
            http,
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
        self.genesis.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn genesis_hash(&self) -> Result<String, SourceError> {
        let genesis = self.http.genesis_hash().await?;
        *self.genesis.lock().unwrap_or_else(PoisonError::into_inner) = Some(genesis.clone());
        Ok(genesis)
    }
}
