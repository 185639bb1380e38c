//! The list while it changes: takes rows, and makes tables of them.

use std::{collections::HashMap, mem, sync::Arc};

use crtx_store::reads::agent_list::ListedRow;
use fixedbitset::FixedBitSet;
use solana_pubkey::Pubkey;

use super::{
    row::Row,
    search::{Index, Texts},
    table::{Rows, Table},
};

/// All rows, and what changed since the last table.
#[derive(Debug, Default)]
pub struct Model {
    table: Arc<Table>,
    rows: Rows,
    numbers: Arc<HashMap<Pubkey, u32>>,
    /// Numbers without a row.
    free: Vec<u32>,
    /// Rows that changed since the last table.
    changed: FixedBitSet,
    /// The texts, without the last changes.
    index: Arc<Index>,
    /// Rows whose texts in the index are not theirs any more, and the texts that are.
    outdated: FixedBitSet,
    texts: Texts,
}

impl Model {
    /// Whether [`Self::put`] needs the description of this agent.
    pub fn needs_texts(&self, agent: &ListedRow) -> bool {
        let known = self.numbers.get(&agent.address).and_then(|number| self.rows.get(*number as usize)?.as_ref());
        known.is_none_or(|row| row.metadata_hash != agent.metadata_hash)
    }

    /// Adds or changes an agent. `description`: its texts are new.
    pub fn put(&mut self, agent: ListedRow, description: Option<&str>) {
        let Some(number) = self.numbers.get(&agent.address).copied().or_else(|| self.new_number(agent.address)) else {
            return;
        };
        let row = Row::from(agent);
        if let Some(description) = description {
            self.forget_texts(number);
            self.texts.add(number, &row.summary, description);
        }
        self.set(number, Some(Arc::new(row)));
    }

    pub fn remove(&mut self, agent: &Pubkey) {
        if !self.numbers.contains_key(agent) {
            return;
        }
        if let Some(number) = Arc::make_mut(&mut self.numbers).remove(agent) {
            self.forget_texts(number);
            self.set(number, None);
            self.free.push(number);
        }
    }

    /// Whether there is anything new.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_clear()
    }

    /// The last table.
    pub const fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Makes a table of everything that was put.
    pub fn publish(&mut self) -> Arc<Table> {
        self.index_texts();
        let changed = mem::take(&mut self.changed);
        let (numbers, index) = (Arc::clone(&self.numbers), Arc::clone(&self.index));
        self.table = Arc::new(self.table.after(&changed, self.rows.clone(), numbers, index));
        Arc::clone(&self.table)
    }

    fn new_number(&mut self, agent: Pubkey) -> Option<u32> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.rows.len()).ok()?,
        };
        Arc::make_mut(&mut self.numbers).insert(agent, number);
        Some(number)
    }

    fn set(&mut self, number: u32, row: Option<Arc<Row>>) {
        let number = number as usize;
        if self.rows.len() <= number {
            self.rows.resize(number.saturating_add(1), None);
        }
        if let Some(there) = self.rows.get_mut(number) {
            *there = row;
        }
        self.changed.grow_and_insert(number);
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
            self.index = Arc::new(self.index.changed(&outdated, texts));
        }
    }
}
