//! Settings of the indexer.

use std::time::Duration;

use crtx_chain::RpcUrls;
use crtx_content::ContentSources;
use crtx_http::outbound::OutboundPolicy;
use solana_pubkey::Pubkey;

use crate::source::{Deadlines, YellowstoneAddress};

pub const DEFAULT_RESYNC_INTERVAL: Duration = Duration::from_secs(60);
pub const DEFAULT_AUDIT_INTERVAL: Duration = Duration::from_secs(600);

/// Settings of [`crate::run`].
#[derive(Clone, Debug)]
pub struct IndexerConfig {
    /// The preferred RPC node first.
    pub rpc_urls: RpcUrls,
    /// WebSocket URLs of these nodes in the same order, with commas between them.
    pub ws_url: String,
    /// Streams the changes, if it is set.
    pub yellowstone: Option<YellowstoneAddress>,
    /// How long a node may take for each step.
    pub deadlines: Deadlines,
    pub program_id: Pubkey,
    /// Between snapshots. A snapshot adds the changes that the stream missed.
    pub resync_interval: Duration,
    /// Hide accounts that the chain does not have, however many they are.
    pub accept_mass_closing: bool,
    /// Replace the mirror if the node belongs to another chain.
    pub accept_new_genesis: bool,
    /// Between audits of the mirror against the chain.
    pub audit_interval: Duration,
    /// The addresses that metadata fetches may reach.
    pub outbound: OutboundPolicy,
    pub content: ContentSources,
}

impl IndexerConfig {
    /// Settings for a public network.
    pub fn new(rpc_urls: RpcUrls, ws_url: &str, program_id: Pubkey) -> Self {
        Self {
            rpc_urls,
            ws_url: ws_url.to_owned(),
            yellowstone: None,
            deadlines: Deadlines::default(),
            program_id,
            resync_interval: DEFAULT_RESYNC_INTERVAL,
            accept_mass_closing: false,
            accept_new_genesis: false,
            audit_interval: DEFAULT_AUDIT_INTERVAL,
            outbound: OutboundPolicy::STRICT,
            content: ContentSources::default(),
        }
    }
}
