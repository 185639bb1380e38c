//! Answers of `GET /v1/agents/{agent_id}` that were given, each with the version of the rows that it shows. The database is
//! asked for the version before an answer is given again.

use std::sync::Arc;

use crtx_http::Whole;
use crtx_store::reads::AgentDetails;
use moka::future::Cache;
use solana_pubkey::Pubkey;

use crate::agent_metrics::AgentMetricsResponse;

/// Bytes of the answers that are kept; those that are asked for most.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// What an answer costs beyond its bytes.
const OVERHEAD: usize = 2_048;

/// An answer, and what it was made from.
#[derive(Debug)]
pub struct KeptAgent {
    pub agent: Arc<AgentDetails>,
    pub metrics: AgentMetricsResponse,
    pub body: Arc<Whole>,
}

pub struct AgentAnswers {
    kept: Cache<Pubkey, Arc<KeptAgent>>,
}

impl Default for AgentAnswers {
    fn default() -> Self {
        let kept = Cache::builder().max_capacity(MAX_BYTES).weigher(|_, kept: &Arc<KeptAgent>| size(kept));
        Self { kept: kept.build() }
    }
}

impl AgentAnswers {
    pub async fn get(&self, agent: &Pubkey) -> Option<Arc<KeptAgent>> {
        self.kept.get(agent).await
    }

    pub async fn keep(&self, kept: KeptAgent) {
        self.kept.insert(kept.agent.summary.address, Arc::new(kept)).await;
    }
}

/// With room for the compressed form.
fn size(kept: &KeptAgent) -> u32 {
    let bytes = kept.body.len();
    let size = bytes.saturating_add(bytes.div_ceil(2)).saturating_add(OVERHEAD);
    u32::try_from(size).unwrap_or(u32::MAX)
}
