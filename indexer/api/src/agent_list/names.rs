//! The names of listed agents by address, for lists of other things. The reader of the list keeps them.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use solana_pubkey::Pubkey;

/// Names of agents. They are never older than the last table.
#[derive(Debug, Default)]
pub struct Names {
    by_agent: RwLock<HashMap<Pubkey, Box<str>>>,
}

impl Names {
    /// The names of those that are listed, in the order of the agents.
    pub fn of(&self, agents: &[Pubkey]) -> Vec<Option<String>> {
        let by_agent = self.by_agent.read().unwrap_or_else(PoisonError::into_inner);
        agents.iter().map(|agent| by_agent.get(agent).map(|name| String::from(&**name))).collect()
    }

    /// Sets names; `None` removes one.
    pub fn put<'a>(&self, names: impl IntoIterator<Item = (&'a Pubkey, Option<&'a str>)>) {
        let mut by_agent = self.by_agent.write().unwrap_or_else(PoisonError::into_inner);
        for (agent, name) in names {
            match name {
                Some(name) if by_agent.get(agent).is_none_or(|known| **known != *name) => {
                    by_agent.insert(*agent, name.into());
                }
                Some(_) => {}
                None => {
                    by_agent.remove(agent);
                }
            }
        }
    }

    pub fn clear(&self) {
        self.by_agent.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
