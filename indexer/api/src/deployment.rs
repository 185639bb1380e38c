//! What an operator configures.

use crtx_chain::RpcUrls;
use crtx_http::Links;
use crtx_protocol::{address::Addresses, cluster::Cluster, webhook::WebhookKeyStatement};

/// The facts of a deployment that are configured, not read from the chain.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub cluster: Cluster,
    pub addresses: Addresses,
    pub links: Links,
    /// Where balances and the transactions of disputes are read.
    pub rpc_urls: RpcUrls,
    /// An RPC node that clients may use.
    pub public_rpc_url: Option<String>,
    /// Addresses and address ranges from which creators' services are called.
    pub outbound_addresses: Vec<String>,
    /// Of the gateway's key pair, and of a second one while it replaces the first.
    pub webhook_keys: Vec<WebhookKeyStatement>,
}
