//! The names of agents in lists of other things: those of listed agents from memory, others from the database.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crtx_http::{ApiError, query_batcher::QueryBatcher};
use crtx_store::{PgPool, reads};
use solana_pubkey::Pubkey;

use crate::agent_list::AgentList;

/// Requests whose names one statement reads.
const MOST_TOGETHER: usize = 32;

/// Finds the names of agents.
pub struct AgentNames {
    listed: Arc<AgentList>,
    /// Each question is about several agents. A statement reads each agent once, however many questions name it.
    others: QueryBatcher<Vec<Pubkey>, HashMap<Pubkey, String>>,
}

/// Names in the order of the agents that were asked for.
pub struct Named {
    /// The agent's address if none of its documents is known.
    pub names: Vec<String>,
    /// Names from memory are at least as new as this slot. `None`: no name is from memory.
    pub slot: Option<u64>,
}

impl AgentNames {
    pub fn new(listed: Arc<AgentList>, pool: PgPool) -> Self {
        let others = QueryBatcher::new(pool, MOST_TOGETHER, |connection, questions: &[Vec<Pubkey>]| {
            Box::pin(async move {
                let agents: HashSet<Pubkey> = questions.iter().flatten().copied().collect();
                let agents: Vec<Pubkey> = agents.into_iter().collect();
                let names = reads::agent_names(connection, &agents).await?;
                let own = |agent: &Pubkey| names.get(agent).map(|name| (*agent, name.clone()));
                Ok(questions.iter().map(|agents| agents.iter().filter_map(own).collect()).collect())
            })
        });
        Self { listed, others }
    }

    /// The names of some agents.
    pub async fn of(&self, agents: &[Pubkey]) -> Result<Named, ApiError> {
        let (listed, slot) = match self.listed.names(agents) {
            Some((names, slot)) => {
                let is_used = names.iter().any(Option::is_some);
                (names, is_used.then_some(slot))
            }
            None => (vec![None; agents.len()], None),
        };
        let missing: Vec<Pubkey> =
            agents.iter().zip(&listed).filter(|(_, name)| name.is_none()).map(|(agent, _)| *agent).collect();
        let others = if missing.is_empty() { HashMap::new() } else { self.others.ask(missing).await? };
        let name = |(agent, listed): (&Pubkey, Option<String>)| {
            listed.or_else(|| others.get(agent).cloned()).unwrap_or_else(|| agent.to_string())
        };
        Ok(Named { names: agents.iter().zip(listed).map(name).collect(), slot })
    }
}
