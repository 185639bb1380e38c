//! What the handlers share.

use std::{sync::Arc, time::Duration};

use crtx_chain::ChainClient;
use crtx_content::ContentStore;
use crtx_http::{AuthState, Credentials, Links, Site, Strangers, gathered::Gathered};
use crtx_protocol::{api_key::KeyNetwork, creator_answer::MAX_RESULT_BYTES, result_hash::ResultHash};
use crtx_store::ReadPools;
use solana_pubkey::Pubkey;
use tokio::time::timeout;

use crate::agent_list::AgentList;
use crate::{
    agent_answers::AgentAnswers,
    agent_documents::AgentDocuments,
    agent_metrics::Metrics,
    agent_names::AgentNames,
    agent_reads::AgentQuestion,
    connections::Connections,
    deployment::Deployment,
    dispute_transactions::{DisputeHistory, Moments, Signatures},
    execution_questions::{Part, Single},
    freshness::MirrorWatch,
    history_response::MarketHistoryResponse,
    holdings::Holdings,
    kept::Kept,
    network_response::NetworkResponse,
    status_response::{MirrorCounts, StatusResponse},
};

/// How long a read waits for the content store.
const CONTENT_PATIENCE: Duration = Duration::from_secs(2);

/// What the handlers need. Cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    pub(crate) shared: Arc<Shared>,
    content: Option<ContentStore>,
    dispute_history: Option<DisputeHistory>,
    pub(crate) max_lag: Option<Duration>,
    credentials: Arc<Credentials>,
}

pub(crate) struct Shared {
    pub(crate) connections: Connections,
    pub(crate) mirror: Arc<MirrorWatch>,
    pub(crate) deployment: Deployment,
    pub(crate) holdings: Holdings,
    pub(crate) status: Kept<(), StatusResponse>,
    pub(crate) counts: Kept<(), MirrorCounts>,
    pub(crate) network_facts: Kept<(), NetworkResponse>,
    pub(crate) market_history: Kept<(), MarketHistoryResponse>,
    pub(crate) agents: Arc<AgentList>,
    pub(crate) agent_answers: AgentAnswers,
    pub(crate) agent_reads: Gathered<AgentQuestion>,
    pub(crate) agent_documents: AgentDocuments,
    pub(crate) agent_metrics: Metrics,
    pub(crate) agent_names: AgentNames,
    pub(crate) executions: Gathered<Single>,
    pub(crate) execution_lists: Gathered<Part>,
    pub(crate) slow_execution_lists: Gathered<Part>,
}

impl ApiState {
    pub fn new(pools: impl Into<ReadPools>, deployment: Deployment) -> Self {
        let pools = pools.into();
        let agents = AgentList::new(pools.points.clone());
        let credentials = Arc::new(Credentials::new(pools.points.clone(), Arc::default()));
        let shared = Shared {
            mirror: MirrorWatch::new(pools.health.clone()),
            holdings: Holdings::new(&deployment),
            deployment,
            status: Kept::new(1),
            counts: Kept::new(1),
            network_facts: Kept::new(1),
            market_history: Kept::new(1),
            agent_names: AgentNames::new(Arc::clone(&agents), pools.points.clone()),
            agents,
            executions: Gathered::new(pools.points.clone()),
            execution_lists: Gathered::new(pools.points.clone()),
            slow_execution_lists: Gathered::new(pools.lists.clone()),
            agent_answers: AgentAnswers::default(),
            agent_reads: Gathered::new(pools.points.clone()),
            agent_documents: AgentDocuments::default(),
            agent_metrics: Metrics::new(pools.points.clone()),
            connections: Connections::new(pools),
        };
        Self { shared: Arc::new(shared), content: None, dispute_history: None, max_lag: None, credentials }
    }

    /// Results that the database does not have are read from this store.
    #[must_use]
    pub fn with_content(self, content: ContentStore) -> Self {
        Self { content: Some(content), ..self }
    }

    /// Reads are refused once the newest proven state of the mirror is older than this.
    #[must_use]
    pub fn with_max_lag(self, max_lag: Option<Duration>) -> Self {
        Self { max_lag, ..self }
    }

    /// Shares what is known about credentials with another part of the process.
    #[must_use]
    pub fn with_strangers(self, strangers: Arc<Strangers>) -> Self {
        let credentials = Credentials::new(self.shared.connections.points().clone(), strangers);
        Self { credentials: Arc::new(credentials), ..self }
    }

    /// Transactions of disputes are found on this chain.
    #[must_use]
    pub fn with_chain(self, chain: ChainClient, program_id: Pubkey) -> Self {
        Self { dispute_history: Some(DisputeHistory::new(chain, program_id)), ..self }
    }

    /// The text of a result in the content store. `None` if it is not there, or no result.
    pub(crate) async fn published_result(&self, hash: &ResultHash) -> Option<String> {
        let reading = self.content.as_ref()?.get_up_to(hash, MAX_RESULT_BYTES);
        let content = timeout(CONTENT_PATIENCE, reading).await.ok()?.ok()??;
        String::from_utf8(content.into()).ok()
    }

    /// The transactions of a dispute. `None` if the chain cannot be asked.
    pub(crate) async fn dispute_transactions(&self, dispute: Pubkey, moments: Moments) -> Option<Signatures> {
        self.dispute_history.as_ref()?.of(dispute, moments).await
    }

    pub(crate) fn links(&self) -> &Links {
        &self.shared.deployment.links
    }

    /// The list of agents.
    pub fn agent_list(&self) -> &Arc<AgentList> {
        &self.shared.agents
    }
}

impl AuthState for ApiState {
    fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn network(&self) -> KeyNetwork {
        self.shared.deployment.cluster.key_network()
    }

    fn site(&self) -> &Site {
        self.shared.deployment.links.site()
    }
}
