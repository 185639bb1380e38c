//! One state of the list: all rows, their orders and what finds them. It never changes.

use super::{
    bits::Bits,
    order::{Changed, Order},
    row::{Address, By, Row, Rows, Sort},
    search::Index,
};

#[derive(Clone, Debug)]
pub struct Table {
    pub rows: Rows,
    /// The numbers of all rows.
    pub listed: Bits,
    /// Rows of verified creators.
    pub verified: Bits,
    orders: [Order; 6],
    pub by_creator: Order,
    pub index: Index,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            listed: Bits::default(),
            verified: Bits::default(),
            orders: Sort::ALL.map(|sort| Order::new(By::Sort(sort), has_threshold(sort))),
            by_creator: Order::new(By::Creator, false),
            index: Index::default(),
        }
    }
}

/// Whether a filter selects the beginning of this order.
const fn has_threshold(sort: Sort) -> bool {
    matches!(sort, Sort::TotalExecutions | Sort::SuccessRate | Sort::PriceAscending)
}

impl Table {
    pub fn order(&self, sort: Sort) -> Option<&Order> {
        self.orders.get(Sort::ALL.iter().position(|it| *it == sort)?)
    }

    /// Rows that a set has room for.
    pub fn room(&self) -> usize {
        self.rows.room()
    }

    pub fn row(&self, number: u32) -> Option<&Row> {
        self.rows.get(number)
    }

    /// The rows of a creator.
    pub fn of_creator(&self, creator: &Address) -> &[u32] {
        let start = self.by_creator.first_with(&self.rows, |row| row.creator < *creator);
        let end = self.by_creator.first_with(&self.rows, |row| row.creator <= *creator);
        self.by_creator.numbers().get(start..end).unwrap_or_default()
    }

    /// The table after changes; `rows` are all rows as they are now, and `index` has their texts.
    pub fn changed(&self, rows: Rows, changes: &[Changed], index: Index) -> Self {
        let room = rows.room();
        let (mut listed, mut verified) = (self.listed.clone(), self.verified.clone());
        listed.grow(room);
        verified.grow(room);
        for (number, _) in changes {
            let row = rows.get(*number);
            put(&mut listed, *number, row.is_some());
            put(&mut verified, *number, row.is_some_and(|row| row.verified));
        }
        let next = |order: &Order| order.changed(&self.rows, &rows, changes, &listed);
        let orders = self.orders.each_ref().map(next);
        let by_creator = next(&self.by_creator);
        Self { orders, by_creator, listed, verified, index, rows }
    }
}

fn put(set: &mut Bits, number: u32, is_in: bool) {
    if is_in {
        set.insert(number);
    } else {
        set.remove(number);
    }
}
