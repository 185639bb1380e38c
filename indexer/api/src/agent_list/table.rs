//! One state of the list: all rows, their orders, and the search index. A published table never changes.

use std::{collections::HashMap, mem, sync::Arc};

use crtx_store::reads::agent_list::AgentSummary;
use fixedbitset::FixedBitSet;
use solana_pubkey::Pubkey;

use super::{search::Index, sort::AgentSort};

#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Rows by their numbers. A number without a row is free.
    pub rows: Vec<Option<Arc<AgentSummary>>>,
    pub numbers: Arc<HashMap<Pubkey, u32>>,
    /// The numbers of all rows.
    pub listed: FixedBitSet,
    /// Rows of verified creators.
    pub verified: FixedBitSet,
    /// The numbers of all rows, in each order.
    orders: [Vec<u32>; AgentSort::KEPT.len()],
    pub index: Arc<Index>,
}

impl Table {
    pub fn order(&self, sort: AgentSort) -> &[u32] {
        let order = if sort == AgentSort::Relevance { AgentSort::TotalExecutions } else { sort };
        self.orders.get(order as usize).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn row(&self, number: u32) -> Option<&AgentSummary> {
        self.rows.get(number as usize)?.as_deref()
    }

    /// The row of an agent.
    pub fn row_of(&self, agent: &Pubkey) -> Option<&AgentSummary> {
        self.row(*self.numbers.get(agent)?)
    }

    /// The place of a row in an order.
    pub fn place(&self, sort: AgentSort, number: u32) -> Option<(u64, &str)> {
        self.row(number).map(|row| (sort.key(row), row.agent_id.as_str()))
    }

    /// Puts a row at a number, or frees it. The orders are as before.
    pub fn set(&mut self, number: u32, row: Option<AgentSummary>) {
        let number = number as usize;
        let length = self.rows.len().max(number.saturating_add(1));
        self.rows.resize(length, None);
        self.listed.grow(length);
        self.verified.grow(length);
        self.listed.set(number, row.is_some());
        self.verified.set(number, row.as_ref().is_some_and(|row| row.creator.verified));
        if let Some(there) = self.rows.get_mut(number) {
            *there = row.map(Arc::new);
        }
    }

    /// Puts the rows that changed at their new places in all orders.
    pub fn order_again(&mut self, changed: &FixedBitSet) {
        let mut orders = mem::take(&mut self.orders);
        for (sort, order) in AgentSort::KEPT.into_iter().zip(&mut orders) {
            *order = self.merged(sort, order, changed);
        }
        self.orders = orders;
    }

    /// An order without the rows that changed, and with them at their new places.
    fn merged(&self, sort: AgentSort, order: &[u32], changed: &FixedBitSet) -> Vec<u32> {
        let place = |number: u32| self.place(sort, number);
        let kept: Vec<u32> = order.iter().copied().filter(|number| !changed.contains(*number as usize)).collect();
        let mut moved: Vec<u32> = changed.ones().filter_map(|number| u32::try_from(number).ok()).collect();
        moved.retain(|number| self.row(*number).is_some());
        moved.sort_unstable_by_key(|number| place(*number));
        let mut merged = Vec::with_capacity(kept.len().saturating_add(moved.len()));
        let mut rest = kept.as_slice();
        for number in moved {
            let (before, after) = rest.split_at(rest.partition_point(|other| place(*other) < place(number)));
            merged.extend_from_slice(before);
            merged.push(number);
            rest = after;
        }
        merged.extend_from_slice(rest);
        merged
    }
}
