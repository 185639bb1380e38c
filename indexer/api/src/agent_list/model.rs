//! The list while it changes: takes rows, and makes tables of them.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use super::{
    bits::Bits,
    order::Changed,
    row::{Address, Row, Rows},
    search::{Collector, Document, Index},
    table::Table,
};

/// An agent that lists show, without its texts.
#[derive(Clone, Debug)]
pub struct Agent {
    pub address: Address,
    pub creator: Address,
    pub binding: bool,
    pub price: u64,
    pub total_executions: u64,
    pub trust: u64,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    /// Microseconds.
    pub created_at: i64,
    /// Says which texts the agent has.
    pub print: Print,
}

/// Identifies the texts of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print(u64);

/// All rows, and what changed since the last table.
#[derive(Debug, Default)]
pub struct Model {
    table: Arc<Table>,
    rows: Rows,
    numbers: HashMap<Address, u32>,
    prints: Vec<Option<Print>>,
    /// Numbers without a row.
    free: Vec<u32>,
    /// Verified creators.
    verified: HashSet<Address>,
    /// What changed since the last table, and the same numbers as a set.
    changes: Vec<Changed>,
    touched: Bits,
    /// The texts, without the last changes.
    index: Index,
    other_texts: Vec<u32>,
    texts: Collector,
    hasher: RandomState,
}

impl Model {
    /// The print of texts. `hash` is the hash of the document that they are from.
    pub fn print(&self, hash: &[u8], name: &str, tagline: &str, tags: &[String]) -> Print {
        Print(self.hasher.hash_one((hash, name, tagline, tags)))
    }

    /// Whether [`Self::put`] needs the texts of this agent.
    pub fn needs_texts(&self, agent: &Agent) -> bool {
        self.number_of(&agent.address)
            .and_then(|number| self.prints.get(number as usize)?.as_ref())
            .is_none_or(|print| *print != agent.print)
    }

    /// Adds or changes an agent. Without texts it keeps those that it has; an agent without any is not listed.
    pub fn put(&mut self, agent: &Agent, document: Option<&Document<'_>>) {
        let known = self.number_of(&agent.address);
        let shown = known.and_then(|number| self.rows.get(number)).map(|row| row.shown.clone());
        if document.is_none() && shown.is_none() {
            return;
        }
        let row = Row {
            address: agent.address,
            creator: agent.creator,
            verified: self.verified.contains(&agent.creator),
            binding: agent.binding,
            price: agent.price,
            total_executions: agent.total_executions,
            trust: agent.trust,
            success_rate: agent.success_rate,
            avg_execution_time_ms: agent.avg_execution_time_ms,
            created_at: agent.created_at,
            shown: shown.unwrap_or_default(),
        };
        let row = match document {
            Some(document) => row.with_texts(document),
            None => row.with_figures(),
        };
        let Some(row) = row else { return };
        let Some(number) = known.or_else(|| self.new_number(agent.address)) else { return };
        self.set(number, Some(row));
        if let Some(document) = document {
            self.forget_texts(number);
            self.texts.add(number, document);
            if let Some(print) = self.prints.get_mut(number as usize) {
                *print = Some(agent.print);
            }
        }
    }

    pub fn remove(&mut self, address: &Address) {
        let Some(number) = self.numbers.remove(address) else { return };
        self.set(number, None);
        self.forget_texts(number);
        if let Some(print) = self.prints.get_mut(number as usize) {
            *print = None;
        }
        self.free.push(number);
    }

    /// Notes whether a creator is verified, and changes the creator's rows of the last table. So it goes before rows are
    /// put.
    pub fn verify(&mut self, creator: Address, is_verified: bool) {
        let changed = if is_verified { self.verified.insert(creator) } else { self.verified.remove(&creator) };
        if !changed {
            return;
        }
        let table = Arc::clone(&self.table);
        for number in table.of_creator(&creator) {
            let row = self.rows.get(*number).filter(|row| row.creator == creator).cloned();
            let row = row.and_then(|row| Row { verified: is_verified, ..row }.with_figures());
            if row.is_some() {
                self.set(*number, row);
            }
        }
    }

    /// Whether there is anything new.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The last table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Makes a table of everything that was put.
    pub fn publish(&mut self) -> Arc<Table> {
        self.index_texts();
        let changes = std::mem::take(&mut self.changes);
        self.touched = Bits::empty(self.rows.room());
        self.table = Arc::new(self.table.changed(self.rows.clone(), &changes, self.index.clone()));
        Arc::clone(&self.table)
    }

    fn number_of(&self, address: &Address) -> Option<u32> {
        self.numbers.get(address).copied()
    }

    fn new_number(&mut self, address: Address) -> Option<u32> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                let number = u32::try_from(self.prints.len()).ok()?;
                self.prints.push(None);
                number
            }
        };
        self.numbers.insert(address, number);
        Some(number)
    }

    fn set(&mut self, number: u32, row: Option<Row>) {
        let was = self.rows.set(number, row);
        self.touched.grow(self.rows.room());
        if !self.touched.contains(number) {
            self.touched.insert(number);
            self.changes.push((number, was));
        }
    }

    /// The index forgets what it knows of a row.
    fn forget_texts(&mut self, number: u32) {
        if self.texts.has(number) {
            self.index_texts();
        }
        self.other_texts.push(number);
    }

    fn index_texts(&mut self) {
        let rows = self.rows.room();
        let mut removed = Bits::empty(rows);
        std::mem::take(&mut self.other_texts).into_iter().for_each(|number| removed.insert(number));
        self.index = self.index.changed(&removed, std::mem::take(&mut self.texts), rows);
    }
}
