//! All rows in one order, kept in order while rows change: the changed ones are taken out and put in where they belong.

use std::sync::Arc;

use super::{
    bits::Bits,
    row::{By, Row, Rows},
};

/// The sets of the first rows, one for each of so many parts of the order.
const PREFIXES: usize = 32;
/// If more than one row of so many changed, all are sorted again.
const SORT_AGAIN_FROM: usize = 8;

/// A row that changed: its number, and what it was.
pub type Changed = (u32, Option<Row>);

#[derive(Clone, Debug)]
pub struct Order {
    by: By,
    numbers: Arc<Vec<u32>>,
    /// Empty if nobody asks for prefixes of this order.
    prefixes: Arc<Prefixes>,
}

#[derive(Debug, Default)]
struct Prefixes {
    wanted: bool,
    /// Rows between two sets.
    step: usize,
    /// The set at `n` has the first `n * step` rows.
    sets: Vec<Bits>,
}

impl Order {
    pub fn new(by: By, with_prefixes: bool) -> Self {
        let prefixes = Prefixes { wanted: with_prefixes, ..Prefixes::default() };
        Self { by, numbers: Arc::default(), prefixes: Arc::new(prefixes) }
    }

    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// How many rows at the beginning of the order have the property. Those after them do not have it.
    pub fn first_with(&self, rows: &Rows, has: impl Fn(&Row) -> bool) -> usize {
        self.numbers.partition_point(|number| rows.get(*number).is_some_and(&has))
    }

    /// The set of the first `length` rows.
    pub fn prefix(&self, rows: &Rows, length: usize) -> Bits {
        let Prefixes { step, sets, .. } = &*self.prefixes;
        let nearest = length.checked_div(*step).unwrap_or_default().min(sets.len().saturating_sub(1));
        let mut set = sets.get(nearest).cloned().unwrap_or_else(|| Bits::empty(rows.room()));
        let left = nearest.saturating_mul(*step)..length;
        self.numbers.get(left).unwrap_or_default().iter().for_each(|number| set.insert(*number));
        set
    }

    /// The order after a change of rows from `before` to `after`.
    pub fn changed(&self, before: &Rows, after: &Rows, changes: &[Changed], listed: &Bits) -> Self {
        let moved: Vec<&Changed> = changes.iter().filter(|change| self.moves(change, after)).collect();
        if moved.is_empty() && self.prefixes.fits(&self.numbers) {
            return self.clone();
        }
        let numbers = if moved.len() > self.numbers.len().checked_div(SORT_AGAIN_FROM).unwrap_or_default() {
            self.sorted(after, listed)
        } else {
            self.merged(before, after, &moved)
        };
        let prefixes = if self.prefixes.wanted { Prefixes::of(&numbers, after.room()) } else { Prefixes::default() };
        Self { by: self.by, numbers: Arc::new(numbers), prefixes: Arc::new(prefixes) }
    }

    fn moves(&self, (number, was): &Changed, after: &Rows) -> bool {
        match (was, after.get(*number)) {
            (None, None) => false,
            (Some(was), Some(is)) => self.by.compare(was, is).is_ne(),
            _ => true,
        }
    }

    fn sorted(&self, rows: &Rows, listed: &Bits) -> Vec<u32> {
        match self.by {
            By::Sort(sort) => {
                let keyed = listed.iter().filter_map(|number| rows.get(number).map(|row| (sort.key(row), number, row)));
                let mut keyed: Vec<_> = keyed.collect();
                keyed.sort_unstable_by(|(key, _, row), (other, _, other_row)| {
                    key.cmp(other).then_with(|| row.address.cmp(&other_row.address))
                });
                keyed.into_iter().map(|(_, number, _)| number).collect()
            }
            By::Creator => {
                let mut all: Vec<_> = listed.iter().filter_map(|number| Some((rows.get(number)?, number))).collect();
                all.sort_unstable_by(|(one, _), (other, _)| self.by.compare(one, other));
                all.into_iter().map(|(_, number)| number).collect()
            }
        }
    }

    /// Takes the moved rows out and puts them in again. The places are found in the order as it was.
    fn merged(&self, before: &Rows, after: &Rows, moved: &[&Changed]) -> Vec<u32> {
        let place = |row: &Row| {
            self.numbers
                .partition_point(|number| before.get(*number).is_some_and(|it| self.by.compare(it, row).is_lt()))
        };
        let mut out: Vec<usize> = moved.iter().filter_map(|(_, was)| was.as_ref().map(place)).collect();
        out.sort_unstable();
        let mut put: Vec<(&Row, u32)> =
            moved.iter().filter_map(|(number, _)| Some((after.get(*number)?, *number))).collect();
        put.sort_unstable_by(|(one, _), (other, _)| self.by.compare(one, other));
        let put: Vec<(usize, u32)> = put.into_iter().map(|(row, number)| (place(row), number)).collect();

        let mut numbers = Vec::with_capacity(self.numbers.len().saturating_add(put.len()).saturating_sub(out.len()));
        let (mut out, mut put, mut at) = (out.into_iter().peekable(), put.into_iter().peekable(), 0_usize);
        loop {
            let next = match (out.peek(), put.peek()) {
                (None, None) => break,
                (Some(gone), Some((new, _))) => *gone.min(new),
                (Some(gone), None) => *gone,
                (None, Some((new, _))) => *new,
            };
            numbers.extend_from_slice(self.numbers.get(at..next).unwrap_or_default());
            at = next;
            // What comes to a place stands before the row that was there.
            while let Some((_, number)) = put.next_if(|(new, _)| *new == next) {
                numbers.push(number);
            }
            if out.next_if_eq(&next).is_some() {
                at = next.saturating_add(1);
            }
        }
        numbers.extend_from_slice(self.numbers.get(at..).unwrap_or_default());
        numbers
    }
}

impl Prefixes {
    fn of(numbers: &[u32], room: usize) -> Self {
        let step = numbers.len().div_ceil(PREFIXES).max(1);
        let mut set = Bits::empty(room);
        let mut sets = vec![set.clone()];
        for part in numbers.chunks(step) {
            part.iter().for_each(|number| set.insert(*number));
            sets.push(set.clone());
        }
        Self { wanted: true, step, sets }
    }

    /// Whether the sets are made already.
    fn fits(&self, numbers: &[u32]) -> bool {
        !self.wanted || numbers.is_empty() || !self.sets.is_empty()
    }
}
