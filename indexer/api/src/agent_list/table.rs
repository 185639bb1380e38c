//! One state of the list: all rows, their orders and what finds them. It never changes.

use std::{collections::HashMap, sync::Arc};

use fixedbitset::FixedBitSet;
use solana_pubkey::Pubkey;

use super::{
    row::{Row, Sort},
    search::Index,
};

/// Rows by their numbers. A number without a row is free.
pub type Rows = Vec<Option<Arc<Row>>>;

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub rows: Rows,
    numbers: Arc<HashMap<Pubkey, u32>>,
    /// The numbers of all rows.
    pub listed: FixedBitSet,
    /// Rows of verified creators.
    pub verified: FixedBitSet,
    /// The numbers of all rows, in each order.
    orders: [Vec<u32>; Sort::ALL.len()],
    pub index: Arc<Index>,
}

impl Table {
    /// The table after a change of the rows `changed`; `rows` are all rows as they are now, `index` has their texts.
    pub fn after(
        &self,
        changed: &FixedBitSet,
        rows: Rows,
        numbers: Arc<HashMap<Pubkey, u32>>,
        index: Arc<Index>,
    ) -> Self {
        let (listed, verified) = (self.listed.clone(), self.verified.clone());
        let mut table = Self { rows, numbers, listed, verified, orders: Default::default(), index };
        table.listed.grow(table.rows.len());
        table.verified.grow(table.rows.len());
        for number in changed.ones() {
            let row = table.rows.get(number).and_then(Option::as_ref);
            table.listed.set(number, row.is_some());
            table.verified.set(number, row.is_some_and(|row| row.summary.creator.verified));
        }
        let mut orders = self.orders.clone();
        for (sort, order) in Sort::ALL.into_iter().zip(&mut orders) {
            *order = table.merged(sort, order, changed);
        }
        Self { orders, ..table }
    }

    pub fn order(&self, sort: Sort) -> &[u32] {
        let order = Sort::ALL.iter().zip(&self.orders).find(|(of, _)| **of == sort);
        order.map(|(_, order)| order.as_slice()).unwrap_or_default()
    }

    pub fn row(&self, number: u32) -> Option<&Row> {
        self.rows.get(number as usize)?.as_deref()
    }

    /// The row of an agent.
    pub fn row_of(&self, agent: &Pubkey) -> Option<&Row> {
        self.row(*self.numbers.get(agent)?)
    }

    /// The place of a row in an order.
    pub fn place(&self, sort: Sort, number: u32) -> Option<(u64, &str)> {
        self.row(number).map(|row| (sort.key(row), row.summary.agent_id.as_str()))
    }

    /// An order without the rows that changed, and with them at their new places.
    fn merged(&self, sort: Sort, order: &[u32], changed: &FixedBitSet) -> Vec<u32> {
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
