//! What the handlers share.

use std::{sync::Arc, time::Duration};

use crtx_chain::ChainClient;
use crtx_content::ContentStore;
use crtx_http::{AuthState, Links, Site};
use crtx_protocol::{api_key::KeyNetwork, creator_answer::MAX_RESULT_BYTES, result_hash::ResultHash};
use crtx_store::{PgPool, ReadPools, reads};
use solana_pubkey::Pubkey;
use tokio::time::timeout;

use super::{
    cache::Cache,
    deployment::Deployment,
    dispute_transactions::{DisputeHistory, Moments, Signatures},
    flights::Flights,
    holdings::Holdings,
    lanes::Lanes,
    mirror_slot::MirrorSlot,
    network_response::NetworkResponse,
    status_response::StatusResponse,
    totals::Totals,
};

/// How long a read waits for the content store.
const CONTENT_PATIENCE: Duration = Duration::from_secs(2);

/// What the handlers need. Cheap to clone.
#[derive(Clone)]
pub struct IndexerApiState {
    shared: Arc<Shared>,
    content: Option<ContentStore>,
    dispute_history: Option<DisputeHistory>,
}

struct Shared {
    lanes: Lanes,
    mirror_slot: Arc<MirrorSlot>,
    deployment: Deployment,
    holdings: Holdings,
    totals: Totals,
    status: Cache<StatusResponse>,
    network_facts: Cache<NetworkResponse>,
    agent_pages: Flights<Arc<Vec<reads::ListedAgent>>>,
    execution_pages: Flights<Arc<Vec<reads::ListedExecution>>>,
    dispute_pages: Flights<Arc<Vec<reads::DisputeDetails>>>,
}

impl IndexerApiState {
    pub fn new(pools: impl Into<ReadPools>, deployment: Deployment) -> Self {
        let pools = pools.into();
        let shared = Shared {
            lanes: Lanes::new(&pools),
            mirror_slot: MirrorSlot::new(pools.health),
            holdings: Holdings::new(&deployment),
            deployment,
            totals: Totals::default(),
            status: Cache::default(),
            network_facts: Cache::default(),
            agent_pages: Flights::default(),
            execution_pages: Flights::default(),
            dispute_pages: Flights::default(),
        };
        Self { shared: Arc::new(shared), content: None, dispute_history: None }
    }

    /// Results that the database does not have are read from this store.
    #[must_use]
    pub fn with_content(self, content: ContentStore) -> Self {
        Self { content: Some(content), ..self }
    }

    /// Transactions of disputes are found on this chain.
    #[must_use]
    pub fn with_chain(self, chain: ChainClient, program_id: Pubkey) -> Self {
        Self { dispute_history: Some(DisputeHistory::new(chain, program_id)), ..self }
    }

    /// The text of a result in the content store. `None` if it is not there, or no result.
    pub(super) async fn published_result(&self, hash: &ResultHash) -> Option<String> {
        let reading = self.content.as_ref()?.get_up_to(hash, MAX_RESULT_BYTES);
        let content = timeout(CONTENT_PATIENCE, reading).await.ok()?.ok()??;
        String::from_utf8(content.into()).ok()
    }

    /// The transactions of a dispute. `None` if the chain cannot be asked.
    pub(super) async fn dispute_transactions(&self, dispute: Pubkey, moments: Moments) -> Option<Signatures> {
        self.dispute_history.as_ref()?.of(dispute, moments).await
    }

    pub(super) fn lanes(&self) -> &Lanes {
        &self.shared.lanes
    }

    pub(super) fn mirror_slot(&self) -> &Arc<MirrorSlot> {
        &self.shared.mirror_slot
    }

    pub(super) fn totals(&self) -> &Totals {
        &self.shared.totals
    }

    pub(super) fn links(&self) -> &Links {
        &self.shared.deployment.links
    }

    pub(super) fn deployment(&self) -> &Deployment {
        &self.shared.deployment
    }

    pub(super) fn holdings(&self) -> &Holdings {
        &self.shared.holdings
    }

    pub(super) fn network_facts(&self) -> &Cache<NetworkResponse> {
        &self.shared.network_facts
    }

    pub(super) fn status(&self) -> &Cache<StatusResponse> {
        &self.shared.status
    }

    pub(super) fn agent_pages(&self) -> &Flights<Arc<Vec<reads::ListedAgent>>> {
        &self.shared.agent_pages
    }

    pub(super) fn execution_pages(&self) -> &Flights<Arc<Vec<reads::ListedExecution>>> {
        &self.shared.execution_pages
    }

    pub(super) fn dispute_pages(&self) -> &Flights<Arc<Vec<reads::DisputeDetails>>> {
        &self.shared.dispute_pages
    }
}

impl AuthState for IndexerApiState {
    fn pool(&self) -> &PgPool {
        self.shared.lanes.points()
    }

    fn network(&self) -> KeyNetwork {
        self.shared.deployment.cluster.key_network()
    }
    fn site(&self) -> &Site {
        self.shared.deployment.links.site()
    }
}
