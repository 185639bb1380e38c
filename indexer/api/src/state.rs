//! What the handlers share.

use std::{sync::Arc, time::Duration};

use crtx_content::ContentStore;
use crtx_http::{
    ApiError, AuthState, Credentials, KeptBody, Links, Site, Strangers, Whole, query_batcher::QueryBatcher,
};
use crtx_protocol::{api_key::KeyNetwork, creator_answer::MAX_RESULT_BYTES, result_hash::ResultHash};
use crtx_store::{
    PgPool, ReadPools,
    reads::{self, ExecutionDetails, ExecutionListQuestion, ExecutionPage, ExecutionQuestion, MirrorCounts},
};
use serde::Serialize;
use tokio::time::timeout;

use crate::{
    agent_list::AgentList,
    agent_names::AgentNames,
    connections::Connections,
    deployment::Deployment,
    dispute_transactions::DisputeHistory,
    events::hub::Hub,
    freshness::MirrorWatch,
    holdings::Holdings,
    kept::{Kept, age_of},
    kept_agents::Agents,
};

/// How long a read waits for the content store.
const CONTENT_PATIENCE: Duration = Duration::from_secs(2);

/// What the handlers need. Cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    pub(crate) shared: Arc<SharedState>,
    /// Results that the database does not have are read from this store.
    pub content: Option<ContentStore>,
    /// Reads are refused once the newest proven state of the mirror is older than this.
    pub max_lag: Option<Duration>,
    credentials: Arc<Credentials>,
    pub(crate) hub: Arc<Hub>,
}

pub(crate) struct SharedState {
    pub(crate) connections: Connections,
    pub(crate) mirror: Arc<MirrorWatch>,
    pub(crate) deployment: Deployment,
    pub(crate) holdings: Holdings,
    pub(crate) dispute_history: DisputeHistory,
    /// Answers that are the same for all clients, by their name.
    answers: Kept<&'static str, Arc<Whole>>,
    pub(crate) counts: Kept<(), MirrorCounts>,
    pub(crate) agent_list: Arc<AgentList>,
    pub(crate) agents: Agents,
    pub(crate) agent_names: AgentNames,
    pub(crate) executions: QueryBatcher<ExecutionQuestion, Option<ExecutionDetails>>,
    pub(crate) execution_lists: QueryBatcher<ExecutionListQuestion, ExecutionPage>,
    /// Those of a time range: the rows of the days in which it begins and ends are counted.
    pub(crate) timed_execution_lists: QueryBatcher<ExecutionListQuestion, ExecutionPage>,
    /// Those that skip many rows: each is asked alone.
    pub(crate) slow_execution_lists: QueryBatcher<ExecutionListQuestion, ExecutionPage>,
}

fn execution_lists(pool: &PgPool, most_together: usize) -> QueryBatcher<ExecutionListQuestion, ExecutionPage> {
    QueryBatcher::new(pool.clone(), most_together, |connection, questions| {
        Box::pin(reads::execution_lists(connection, questions))
    })
}

impl ApiState {
    pub fn new(pools: impl Into<ReadPools>, deployment: Deployment) -> Self {
        let pools = pools.into();
        let agent_list = AgentList::new(pools.points.clone());
        let credentials = Arc::new(Credentials::new(pools.points.clone(), Arc::default()));
        let hub = Hub::new(pools.points.clone(), Arc::clone(&credentials));
        let shared = SharedState {
            mirror: MirrorWatch::new(pools.health.clone()),
            holdings: Holdings::new(&deployment),
            dispute_history: DisputeHistory::new(&deployment),
            deployment,
            answers: Kept::new(8),
            counts: Kept::new(1),
            agent_names: AgentNames::new(Arc::clone(&agent_list), pools.points.clone()),
            agent_list,
            agents: Agents::new(&pools.points),
            executions: QueryBatcher::new(pools.points.clone(), 32, |connection, questions| {
                Box::pin(reads::executions(connection, questions))
            }),
            execution_lists: execution_lists(&pools.points, 32),
            timed_execution_lists: execution_lists(&pools.lists, 8),
            slow_execution_lists: execution_lists(&pools.lists, 1),
            connections: Connections::new(pools),
        };
        Self { shared: Arc::new(shared), content: None, max_lag: None, credentials, hub }
    }

    /// Looks credentials up in `pool`, which may be of another server than the reads, and shares what is known about them
    /// with another part of the process. New events are read there, too.
    #[must_use]
    pub fn with_credentials(self, pool: PgPool, strangers: Arc<Strangers>) -> Self {
        let credentials = Arc::new(Credentials::new(pool.clone(), strangers));
        Self { hub: Hub::new(pool, Arc::clone(&credentials)), credentials, ..self }
    }

    /// An answer that is the same for all clients: one that was read some seconds ago, or what `read` returns, with the time
    /// that reading it took.
    pub(crate) async fn kept_answer<T: Serialize>(
        &self,
        name: &'static str,
        read: impl Future<Output = Result<(T, Duration), ApiError>>,
    ) -> Result<KeptBody, ApiError> {
        let reading = async {
            let (answer, took) = read.await?;
            Ok((Arc::new(Whole::of_json(&answer)?), age_of(took)))
        };
        Ok(KeptBody(self.shared.answers.get(name, reading).await?))
    }

    /// The text of a result in the content store. `None` if it is not there, or no result.
    pub(crate) async fn published_result(&self, hash: &ResultHash) -> Option<String> {
        let reading = self.content.as_ref()?.get_up_to(hash, MAX_RESULT_BYTES);
        let content = timeout(CONTENT_PATIENCE, reading).await.ok()?.ok()??;
        String::from_utf8(content.into()).ok()
    }

    pub(crate) fn links(&self) -> &Links {
        &self.shared.deployment.links
    }

    /// The list of agents.
    pub fn agent_list(&self) -> &Arc<AgentList> {
        &self.shared.agent_list
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
