//! The digest of all finalized accounts of the program, as a node shows them.

use anyhow::Context;
use crtx_mirror::{
    proof::node_digest::{self, NodeDigest},
    source::{AccountSource, At, Deadlines, EndpointUrls, Endpoints},
};
use solana_pubkey::Pubkey;
use url::Url;

/// Reads every account, at `min_slot` or later. It holds one page at a time.
pub async fn digest(rpc_url: &Url, program: Pubkey, min_slot: u64) -> anyhow::Result<NodeDigest> {
    let urls = EndpointUrls { http: rpc_url.clone(), websocket: None };
    let node = Endpoints::new(&[urls], program, Deadlines::default())?;
    let reading = async {
        let snapshot = node.snapshot(At::Finalized, min_slot).await?;
        node_digest::of_snapshot(&node.name(), snapshot).await
    };
    reading.await.context("the accounts of the program cannot be read from the node")
}
