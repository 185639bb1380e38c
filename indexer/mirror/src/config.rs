//! Settings of the indexer.

use std::time::Duration;

use chrono::TimeDelta;
use crtx_chain::RpcUrls;
use crtx_content::ContentSources;
use crtx_http::outbound::OutboundPolicy;
use solana_pubkey::Pubkey;

use crate::{
    source::{Deadlines, YellowstoneAddress},
    sync::SyncSettings,
};

pub const DEFAULT_RESYNC_INTERVAL: Duration = Duration::from_secs(60);
pub const DEFAULT_AUDIT_INTERVAL: Duration = Duration::from_secs(600);
pub const DEFAULT_EVENTS_KEPT: TimeDelta = TimeDelta::days(90);

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
    pub sync: SyncSettings,
    /// Between audits of the mirror against the chain.
    pub audit_interval: Duration,
    /// The age at which events are deleted.
    pub events_kept: TimeDelta,
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
            sync: SyncSettings::new(DEFAULT_RESYNC_INTERVAL),
            audit_interval: DEFAULT_AUDIT_INTERVAL,
            events_kept: DEFAULT_EVENTS_KEPT,
            outbound: OutboundPolicy::STRICT,
            content: ContentSources::default(),
        }
    }
}
