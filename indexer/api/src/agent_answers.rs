//! Answers of `GET /v1/agents/{agent_id}` that were given, each with the version of the rows that it shows. The database is
//! asked for the version before an answer is given again, and only what has another one is read.

use std::{collections::HashMap, sync::Arc};

use crtx_http::Whole;
use crtx_store::{
    PgConnection, StoreError,
    reads::{self, AgentDetails, AgentVersion},
};
use moka::future::Cache;
use solana_pubkey::Pubkey;

use crate::agent_metrics::AgentMetricsResponse;

/// Bytes of the answers that are kept; those that are asked for most.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// What an answer costs beyond its bytes.
const OVERHEAD: usize = 2_048;

/// An answer, and what it was made from.
#[derive(Debug)]
pub struct KeptAgent {
    pub agent: Arc<AgentDetails>,
    pub metrics: AgentMetricsResponse,
    pub body: Arc<Whole>,
}

pub type AgentAnswers = Cache<Pubkey, Arc<KeptAgent>>;

pub fn new() -> AgentAnswers {
    Cache::builder().max_capacity(MAX_BYTES).weigher(|_, kept: &Arc<KeptAgent>| size(kept)).build()
}

/// With room for the compressed form and for the document.
fn size(kept: &KeptAgent) -> u32 {
    let bytes = kept.body.bytes.len();
    let size = bytes.saturating_mul(2).saturating_add(bytes.div_ceil(2)).saturating_add(OVERHEAD);
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// An agent, and the version that the asker has of it.
pub type AgentQuestion = (Pubkey, Option<AgentVersion>);

/// What the database says about an agent now.
#[derive(Clone, Debug)]
pub enum AgentAnswer {
    NotShown,
    /// It is the version that the asker has.
    Unchanged,
    Changed(Arc<AgentDetails>),
}

pub async fn ask(connection: &mut PgConnection, questions: &[AgentQuestion]) -> Result<Vec<AgentAnswer>, StoreError> {
    let known: Vec<Pubkey> =
        questions.iter().filter(|(_, version)| version.is_some()).map(|(agent, _)| *agent).collect();
    let versions = reads::agent_versions(&mut *connection, &known).await?;
    let is_unchanged = |(agent, version): &AgentQuestion| version.is_some() && versions.get(agent) == version.as_ref();
    let mut changed: Vec<Pubkey> =
        questions.iter().filter(|question| !is_unchanged(question)).map(|(agent, _)| *agent).collect();
    changed.sort_unstable();
    changed.dedup();
    let found = reads::agents(connection, &changed).await?;
    let found: HashMap<Pubkey, Arc<AgentDetails>> =
        found.into_iter().map(|agent| (agent.address, Arc::new(agent))).collect();
    let answer = |question: &AgentQuestion| match found.get(&question.0) {
        _ if is_unchanged(question) => AgentAnswer::Unchanged,
        Some(agent) => AgentAnswer::Changed(Arc::clone(agent)),
        None => AgentAnswer::NotShown,
    };
    Ok(questions.iter().map(answer).collect())
}
