//! The transport of `RpcClient`, which uses the same nodes as this crate. The client library's own transport waits
//! for `Retry-After` inside a call, longer than any caller waits.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;
use solana_rpc_client::rpc_sender::{RpcSender, RpcTransportStats};
use solana_rpc_client_api::{client_error, request::RpcRequest};
use tokio::time::Instant;

use crate::{nodes::Nodes, timeouts::Timeouts};

/// Enough for a block's transactions or a page of signatures.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

pub(crate) struct NodesSender {
    nodes: Arc<Nodes>,
    timeouts: Timeouts,
}

impl NodesSender {
    pub(crate) fn new(nodes: Arc<Nodes>, timeouts: Timeouts) -> Self {
        Self { nodes, timeouts }
    }
}

#[async_trait]
impl RpcSender for NodesSender {
    async fn send(&self, request: RpcRequest, params: Value) -> client_error::Result<Value> {
        let wire = self.nodes.request(&request.to_string(), &params, ANSWER_LIMIT);
        let deadline = |timeout: Duration| {
            let now = Instant::now();
            now.checked_add(timeout).unwrap_or(now)
        };
        let answer = match request {
            RpcRequest::SendTransaction => self.nodes.send_everywhere(wire, deadline(self.timeouts.request)).await,
            RpcRequest::GetProgramAccounts => self.nodes.ask_in_turn(&wire, deadline(self.timeouts.snapshot)).await,
            _ => self.nodes.ask(&wire, deadline(self.timeouts.request), |_| Ok(())).await,
        };
        answer.map_err(|error| client_error::Error::from(error).into_with_request(request))
    }

    fn get_transport_stats(&self) -> RpcTransportStats {
        RpcTransportStats::default()
    }

    /// Returns hosts only, because paths and queries contain providers' keys.
    fn url(&self) -> String {
        self.nodes.names()
    }
}
