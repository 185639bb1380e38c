//! The list while it changes: takes rows, and makes tables of them.

use std::{mem, sync::Arc};

use crtx_store::reads::agent_list::AgentSummary;
use fixedbitset::FixedBitSet;
use solana_pubkey::Pubkey;

use super::{search::Texts, table::Table};

/// All rows, and what changed since the last table.
#[derive(Debug, Default)]
pub struct Model {
    published: Arc<Table>,
    /// The next table. Its orders and its index do not have the last changes yet.
    next: Table,
    /// Numbers without a row.
    free: Vec<u32>,
    /// Rows that changed since the last table.
    changed: FixedBitSet,
    /// Rows whose texts in the index are outdated, and the new texts.
    outdated: FixedBitSet,
    texts: Texts,
}

impl Model {
    /// Whether [`Self::put`] needs the description of this agent.
    pub fn needs_texts(&self, agent: &AgentSummary) -> bool {
        self.next.row_of(&agent.address).is_none_or(|row| row.metadata_hash != agent.metadata_hash)
    }

    /// Adds or changes an agent. `description`: its texts are new.
    pub fn put(&mut self, agent: AgentSummary, description: Option<&str>) {
        let known = self.next.numbers.get(&agent.address).copied();
        let Some(number) = known.or_else(|| self.new_number(agent.address)) else { return };
        if let Some(description) = description {
            self.forget_texts(number);
            self.texts.add(number, &agent, description);
        }
        self.set(number, Some(agent));
    }

    pub fn remove(&mut self, agent: &Pubkey) {
        if self.next.numbers.contains_key(agent)
            && let Some(number) = Arc::make_mut(&mut self.next.numbers).remove(agent)
        {
            self.forget_texts(number);
            self.set(number, None);
            self.free.push(number);
        }
    }

    /// A table of everything that was put; the last one if nothing is new.
    pub fn publish(&mut self) -> Arc<Table> {
        if !self.changed.is_clear() {
            self.index_texts();
            self.next.order_again(&mem::take(&mut self.changed));
            self.published = Arc::new(self.next.clone());
        }
        Arc::clone(&self.published)
    }

    fn new_number(&mut self, agent: Pubkey) -> Option<u32> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.next.rows.len()).ok()?,
        };
        Arc::make_mut(&mut self.next.numbers).insert(agent, number);
        Some(number)
    }

    fn set(&mut self, number: u32, row: Option<AgentSummary>) {
        self.next.set(number, row);
        self.changed.grow_and_insert(number as usize);
    }

    /// The index forgets what it knows of a row.
    fn forget_texts(&mut self, number: u32) {
        if self.texts.has(number) {
            self.index_texts();
        }
        self.outdated.grow_and_insert(number as usize);
    }

    fn index_texts(&mut self) {
        let (outdated, texts) = (mem::take(&mut self.outdated), mem::take(&mut self.texts));
        if !outdated.is_clear() {
            self.next.index = Arc::new(self.next.index.changed(&outdated, texts));
        }
    }
}
