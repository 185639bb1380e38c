//! A gateway, shared by handlers and workers: the engine of calls, and the parts that no call uses.

use std::{sync::Arc, time::Duration};

use agent_marketplace::state::Config;
use crtx_content::ContentStore;
use crtx_http::{
    AuthState, Credentials, Site,
    allowance::{Allowances, Rate},
    outbound::Outbound,
};
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::PgPool;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    agent_tests::AgentTests,
    config::GatewayConfig,
    engine::Engine,
    error::GatewayError,
    examinations::Examinations,
    figures::CallFigures,
    held_content::{self, Uploads},
    sign_in::SignIn,
    webhooks::Webhooks,
};

/// Requests of one wallet about its API keys: each of them reads the chain.
const KEY_REQUESTS: Rate =
    Rate { policy: "key-requests-per-wallet", burst: 60, quota: 120, window: Duration::from_secs(60) };

/// A gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) engine: Arc<Engine>,
    pub(crate) sign_in: Arc<SignIn>,
    pub(crate) agent_tests: Arc<AgentTests>,
    pub(crate) examinations: Arc<Examinations>,
    /// Requests of each wallet about its API keys.
    pub(crate) key_requests: Arc<Allowances<Pubkey>>,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) webhooks: Arc<Webhooks>,
}

impl Gateway {
    /// Creates a gateway without connecting to anything. `money` is the pool for calls.
    pub fn new(config: GatewayConfig, money: PgPool) -> Result<Self, GatewayError> {
        let outbound = Outbound::new(config.outbound);
        Ok(Self {
            sign_in: Arc::new(SignIn::new(config.keypair.all(), config.links.site().clone(), config.cluster)),
            agent_tests: Arc::new(AgentTests::new(outbound.clone())),
            examinations: Arc::new(Examinations::new()),
            key_requests: Arc::new(Allowances::new(KEY_REQUESTS)),
            uploads: Arc::new(Uploads::new()),
            webhooks: Arc::new(Webhooks::new(outbound.clone(), config.keypair.clone())?),
            engine: Arc::new(Engine::new(config, outbound, money)?),
        })
    }

    /// Compares the gateway's configuration with the program's: otherwise it could open calls and not settle them. A
    /// content store that fails is only reported: calls do without it.
    pub async fn check(&self) -> Result<(), GatewayError> {
        let engine = &self.engine;
        let [account] = engine.read([engine.instructions.addresses.config()]).await?;
        let wrong = |problem: String| Err(GatewayError::Misconfigured(problem));
        let Some(config) = engine.decode::<Config>(account.as_ref()) else {
            return wrong("is missing: is this the right program and network?".to_owned());
        };
        if !engine.config.keypair.follow(&config.gateway_authority) {
            return wrong(format!("names {} as gateway, not {}", config.gateway_authority, self.authority()));
        }
        if config.usdc_mint != engine.instructions.usdc_mint {
            return wrong(format!("names the mint {}, not {}", config.usdc_mint, engine.instructions.usdc_mint));
        }
        engine.content.report().await;
        Ok(())
    }

    /// What this process counts of calls and transactions.
    pub fn figures(&self) -> &CallFigures {
        &self.engine.figures
    }

    /// Where results and metadata documents are stored.
    pub fn content(&self) -> &ContentStore {
        &self.engine.content
    }

    /// Looks once through the content that clients handed in, as a worker does again and again.
    pub async fn tidy_held_content(&self) {
        held_content::tidy(&self.engine).await;
    }

    pub(crate) fn pool(&self) -> &PgPool {
        self.engine.executions.pool()
    }

    /// The gateway's own address: fee payer and settler.
    pub fn authority(&self) -> Pubkey {
        self.engine.config.keypair.pubkey()
    }
}

impl AuthState for Gateway {
    fn credentials(&self) -> &Credentials {
        &self.engine.credentials
    }

    fn network(&self) -> KeyNetwork {
        self.engine.config.cluster.key_network()
    }

    fn site(&self) -> &Site {
        self.engine.config.links.site()
    }
}
