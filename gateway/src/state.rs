//! The parts of a gateway, put together once and shared by handlers and workers.

use std::sync::Arc;

use crtx_chain::{ChainClient, Instructions};
use crtx_http::AuthState;
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::{PgPool, executions::Executions};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::task::TaskTracker;

use crate::{
    agents::AgentDocuments,
    config::GatewayConfig,
    content::{ContentError, ContentStore},
    creator::Creators,
};

/// A gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    parts: Arc<Parts>,
}

pub(crate) struct Parts {
    pub config: GatewayConfig,
    pub executions: Executions,
    pub chain: ChainClient,
    pub instructions: Instructions,
    pub content: ContentStore,
    pub creators: Creators,
    pub documents: AgentDocuments,
    /// Calls under way in this process: a stop waits for them.
    pub tasks: TaskTracker,
}

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("no HTTP client for creators' services: {0}")]
    Http(#[from] reqwest::Error),
}

impl Gateway {
    /// Puts a gateway together. Nothing is connected to yet.
    pub fn new(config: GatewayConfig, pool: PgPool) -> Result<Self, GatewayError> {
        let executions = Executions::new(pool, config.limits.lease);
        let parts = Parts {
            chain: ChainClient::new(&config.rpc_url, config.limits.rpc_timeout),
            instructions: Instructions::new(config.addresses, config.usdc_mint),
            content: ContentStore::local(&config.content_dir)?,
            creators: Creators::new(config.outbound)?,
            documents: AgentDocuments::new(executions.clone(), config.outbound),
            tasks: TaskTracker::new(),
            executions,
            config,
        };
        Ok(Self { parts: Arc::new(parts) })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Where results and metadata documents lie.
    pub fn content(&self) -> &ContentStore {
        &self.parts.content
    }

    /// The gateway's own address: fee payer and settler.
    pub fn authority(&self) -> Pubkey {
        self.parts.config.keypair.pubkey()
    }
}

impl AuthState for Gateway {
    fn pool(&self) -> &PgPool {
        self.parts.executions.pool()
    }

    fn network(&self) -> KeyNetwork {
        self.parts.config.network
    }
}
