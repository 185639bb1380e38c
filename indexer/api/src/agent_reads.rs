//! The question for an agent that requests ask together: only what differs from the answer that is kept is read.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use crtx_http::gathered::Question;
use crtx_store::{
    PgConnection, StoreError,
    reads::{self, AgentDetails, AgentVersion, KnownAgent},
};
use solana_pubkey::Pubkey;

/// An agent, and what the asker has of it.
#[derive(Clone, Debug)]
pub struct AgentQuestion {
    pub agent: KnownAgent,
    pub version: Option<AgentVersion>,
}

/// What the database says about an agent now.
#[derive(Clone, Debug)]
pub enum AgentAnswer {
    NotShown,
    /// It is the version that the asker has.
    Unchanged,
    Changed(Arc<AgentDetails>),
}

#[async_trait]
impl Question for AgentQuestion {
    type Answer = AgentAnswer;

    /// A few reads by key for each agent.
    const MOST_TOGETHER: usize = 64;

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        let known = questions.iter().filter(|question| question.version.is_some());
        let mut known: Vec<Pubkey> = known.map(|question| question.agent.address).collect();
        known.sort_unstable();
        known.dedup();
        let versions = match known.is_empty() {
            true => HashMap::new(),
            false => reads::agent_versions(&mut *connection, &known).await?,
        };
        let is_unchanged = |question: &&Self| {
            question.version.is_some() && versions.get(&question.agent.address) == question.version.as_ref()
        };
        let changed = questions.iter().filter(|question| !is_unchanged(question));
        let found = details(connection, changed.map(|question| question.agent)).await?;
        let answer = |question: &Self| match found.get(&question.agent.address) {
            _ if is_unchanged(&question) => AgentAnswer::Unchanged,
            Some(agent) => AgentAnswer::Changed(Arc::clone(agent)),
            None => AgentAnswer::NotShown,
        };
        Ok(questions.iter().map(answer).collect())
    }
}

async fn details(
    connection: &mut PgConnection,
    agents: impl Iterator<Item = KnownAgent>,
) -> Result<HashMap<Pubkey, Arc<AgentDetails>>, StoreError> {
    // Requests for one agent can know different documents of it; then it is read with its document.
    let mut wanted: HashMap<Pubkey, KnownAgent> = HashMap::new();
    for agent in agents {
        let known = wanted.entry(agent.address).or_insert(agent);
        if known.document != agent.document {
            known.document = None;
        }
    }
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted: Vec<KnownAgent> = wanted.into_values().collect();
    let agents = reads::agents(&mut *connection, &wanted).await?;
    Ok(agents.into_iter().map(|agent| (agent.summary.address, Arc::new(agent))).collect())
}
