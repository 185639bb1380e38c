//! The parts of a gateway, put together once and shared by handlers and workers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_marketplace::state::Config;
use crtx_chain::{ChainClient, ChainError, Instructions, Timeouts};
use crtx_content::{ContentError, ContentLocation, ContentStore};
use crtx_http::{AuthState, outbound::Outbound};
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::{PgPool, executions::Executions};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::task::TaskTracker;

use crate::{
    admission::{fee_payer::FeePayerWatch, gate::Gate, refused::RefusedCalls},
    agents::AgentDocuments,
    config::GatewayConfig,
    creator::{Creators, CreatorsError},
    mirror::MirrorRefresh,
    terms_ahead::KnownPayers,
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
    pub mirror: MirrorRefresh,
    pub known_payers: KnownPayers,
    /// Bounds the calls that this process works on.
    pub gate: Gate,
    pub refused: RefusedCalls,
    pub fee_payer: FeePayerWatch,
    /// Calls under way in this process: a stop waits for them.
    pub tasks: TaskTracker,
}

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Creators(#[from] CreatorsError),
    #[error("no threads to check schemas: {0}")]
    Threads(#[from] std::io::Error),
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// What this gateway was told is not what the program was told.
    #[error("the program's configuration on chain {0}")]
    Misconfigured(String),
}

impl Gateway {
    /// Puts a gateway together. Nothing is connected to yet. `money` carries the calls; the mirror's rows are written
    /// through `mirror`, so that calls never wait for them.
    pub fn new(config: GatewayConfig, money: PgPool, mirror: PgPool) -> Result<Self, GatewayError> {
        let executions = Executions::new(money, config.limits.lease);
        let timeouts = Timeouts { request: config.limits.rpc_timeout, snapshot: config.limits.rpc_timeout };
        let chain = ChainClient::with_timeouts(&config.rpc_urls, timeouts);
        let outbound = Outbound::new(config.outbound);
        let parts = Parts {
            mirror: MirrorRefresh::new(chain.clone(), mirror, config.addresses.program_id()),
            chain,
            instructions: Instructions::new(config.addresses, config.usdc_mint),
            content: ContentStore::create(&config.content)?,
            creators: Creators::new(outbound.clone(), folder_of_long_answers(&config.content))?,
            documents: AgentDocuments::new(executions.clone(), outbound)?,
            known_payers: KnownPayers::default(),
            gate: Gate::new(config.limits.admission.process),
            refused: RefusedCalls::new(config.limits.admission.refused),
            fee_payer: FeePayerWatch::new(config.limits.admission.fee_payer, config.limits.compute_unit_price),
            tasks: TaskTracker::new(),
            executions,
            config,
        };
        Ok(Self { parts: Arc::new(parts) })
    }

    /// Compares the set-up with the program's configuration on chain. A gateway that fails this could open
    /// calls but never settle or refund one.
    pub async fn check(&self) -> Result<(), GatewayError> {
        let parts = self.parts();
        let account = parts.chain.account(&parts.instructions.addresses.config()).await?.value;
        let wrong = |problem: String| Err(GatewayError::Misconfigured(problem));
        let Some(config) = parts.decode::<Config>(account.as_ref()) else {
            return wrong("is missing: is this the right program and network?".to_owned());
        };
        if config.gateway_authority != self.authority() {
            return wrong(format!("names {} as gateway, not {}", config.gateway_authority, self.authority()));
        }
        if config.usdc_mint != parts.instructions.usdc_mint {
            return wrong(format!("names the mint {}, not {}", config.usdc_mint, parts.instructions.usdc_mint));
        }
        Ok(())
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

/// On the disk of the content where there is one: the system's folder may be memory.
fn folder_of_long_answers(content: &ContentLocation) -> PathBuf {
    content.folder().map_or_else(std::env::temp_dir, Path::to_path_buf)
}

impl AuthState for Gateway {
    fn pool(&self) -> &PgPool {
        self.parts.executions.pool()
    }

    fn network(&self) -> KeyNetwork {
        self.parts.config.network
    }
}
