//! Answers a question about the list: which rows, how many in all, and where the next page begins.
//!
//! Every filter becomes a set of rows, so a total costs one pass over bits. The page is read off the order that was asked
//! for, or sorted from the rows that were found if these are few.

use super::{
    bits::Bits,
    order::Order,
    row::{Address, Row, Sort},
    search::{Scores, Visitor},
    table::Table,
};

/// What comparing a row that was found costs, in steps along an order.
const SORTING_COST: usize = 12;
/// Steps along an order that are worth no thought.
const SHORT_WALK: usize = 4_096;
/// If a page is not full after so many times the expected number of steps, the rows are not evenly spread.
const PATIENCE: usize = 4;

/// Which agents. The default is all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Agents that have all of these tags.
    pub tags: Vec<String>,
    /// 0 to 1.
    pub min_success_rate: f64,
    pub min_executions: u64,
    pub max_price: Option<u64>,
    pub verified_only: bool,
    pub creator: Option<Address>,
    /// Words that all occur.
    pub words: Vec<String>,
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    By(Sort),
    /// The rows that fit the words best first, then by executions.
    Relevance,
}

/// The order of rows with equal relevance.
const SECOND: Sort = Sort::TotalExecutions;

/// The place of a row in an order. It stays the same while other rows change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 in orders that are not by relevance.
    pub score: u32,
    pub key: u64,
    pub address: Address,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Offset(usize),
    After(Place),
}

/// A page of a list.
#[derive(Debug)]
pub struct Page<'a> {
    pub rows: Vec<&'a Row>,
    /// Rows that pass the filter.
    pub total: usize,
    /// The place of the last row, if others follow it.
    pub next: Option<Place>,
}

impl Table {
    pub fn page(&self, filter: &Filter, ordering: Ordering, start: Start, limit: usize) -> Page<'_> {
        let scores = (!filter.words.is_empty()).then(|| self.index.search(&filter.words, &self.listed, self.room()));
        let found = self.found(filter, scores.as_ref());
        let total = found.as_ref().map_or_else(|| self.by_creator.numbers().len(), Bits::count);
        // One row more shows whether there is another page.
        let wanted = limit.saturating_add(1);
        let sort = match ordering {
            Ordering::By(sort) => sort,
            Ordering::Relevance => SECOND,
        };
        let reading = Reading { table: self, sort, filter };
        if let (Ordering::Relevance, Some(mut scores), Some(found)) = (ordering, scores, &found) {
            scores.found.clone_from(found);
            let mut groups = Groups::new(reading, start, wanted);
            scores.visit(&mut groups);
            return self.shown(groups.taken, limit, total, sort, Some(&scores));
        }
        self.shown(reading.read(found.as_ref(), total, start, wanted), limit, total, sort, None)
    }

    /// The rows that pass the filter. `None`: all.
    fn found(&self, filter: &Filter, scores: Option<&Scores>) -> Option<Bits> {
        let mut found = scores.map(|scores| scores.found.clone());
        let mut keep = |set: Bits| match &mut found {
            Some(found) => found.keep(&set),
            None => found = Some(set),
        };
        filter.tags.iter().for_each(|tag| keep(self.index.with_tag(tag, self.room())));
        if let Some(creator) = &filter.creator {
            let mut set = Bits::empty(self.room());
            self.of_creator(creator).iter().for_each(|number| set.insert(*number));
            keep(set);
        }
        if filter.verified_only {
            keep(self.verified.clone());
        }
        for (sort, has) in thresholds(filter) {
            let Some(order) = self.order(sort) else { continue };
            let length = order.first_with(&self.rows, has);
            if length < order.numbers().len() {
                keep(order.prefix(&self.rows, length));
            }
        }
        found
    }

    fn shown(&self, numbers: Vec<u32>, limit: usize, total: usize, sort: Sort, scores: Option<&Scores>) -> Page<'_> {
        let more = numbers.len() > limit;
        let numbers = numbers.get(..limit).unwrap_or(&numbers);
        let last = numbers.last().and_then(|number| Some((*number, self.row(*number)?)));
        let place = |(number, row): (u32, &Row)| Place {
            score: scores.map_or(0, |scores| scores.of(number)),
            key: sort.key(row),
            address: row.address,
        };
        Page {
            rows: numbers.iter().filter_map(|number| self.row(*number)).collect(),
            total,
            next: last.filter(|_| more).map(place),
        }
    }
}

type Has<'a> = Box<dyn Fn(&Row) -> bool + 'a>;

/// The filters that select the beginning of an order.
fn thresholds(filter: &Filter) -> Vec<(Sort, Has<'_>)> {
    let mut all: Vec<(Sort, Has<'_>)> = Vec::new();
    if filter.min_success_rate > 0.0 {
        all.push((Sort::SuccessRate, Box::new(|row| row.success_rate >= filter.min_success_rate)));
    }
    if filter.min_executions > 0 {
        all.push((Sort::TotalExecutions, Box::new(|row| row.total_executions >= filter.min_executions)));
    }
    if let Some(price) = filter.max_price {
        all.push((Sort::PriceAscending, Box::new(move |row| row.price <= price)));
    }
    all
}

/// Reads rows in one order.
#[derive(Clone, Copy)]
struct Reading<'a> {
    table: &'a Table,
    sort: Sort,
    filter: &'a Filter,
}

impl Reading<'_> {
    /// The first `wanted` rows from the start that are in `found`, of which there are `count`.
    fn read(self, found: Option<&Bits>, count: usize, start: Start, wanted: usize) -> Vec<u32> {
        let Some(order) = self.table.order(self.sort) else { return Vec::new() };
        let (first, skip) = match start {
            Start::Offset(offset) => (self.first_possible(order), offset),
            Start::After(place) => (self.after(order, place).max(self.first_possible(order)), 0),
        };
        let Some(found) = found else {
            let rest = order.numbers().get(first.saturating_add(skip)..).unwrap_or_default();
            return rest.iter().take(wanted).copied().collect();
        };
        if skip >= count {
            return Vec::new();
        }
        let steps = self.expected_steps(order, skip.saturating_add(wanted), count);
        let sorting = count.saturating_mul(SORTING_COST);
        if sorting < steps {
            return self.sorted(found, start, wanted);
        }
        let rest = order.numbers().get(first..).unwrap_or_default();
        let patience = steps.saturating_mul(PATIENCE).max(SHORT_WALK);
        let patience = if sorting < rest.len() { patience } else { rest.len() };
        let walked = rest.get(..patience).unwrap_or(rest).iter().copied();
        let page: Vec<u32> = walked.filter(|number| found.contains(*number)).skip(skip).take(wanted).collect();
        if page.len() < wanted && patience < rest.len() { self.sorted(found, start, wanted) } else { page }
    }

    /// How far a walk goes if the rows are evenly spread.
    fn expected_steps(self, order: &Order, wanted: usize, count: usize) -> usize {
        wanted.saturating_mul(order.numbers().len()).checked_div(count).unwrap_or(usize::MAX)
    }

    /// The first place of the order with a row that can pass the filter.
    fn first_possible(self, order: &Order) -> usize {
        match (self.sort, self.filter.max_price) {
            (Sort::PriceDescending, Some(price)) => order.first_with(&self.table.rows, |row| row.price > price),
            _ => 0,
        }
    }

    fn after(self, order: &Order, place: Place) -> usize {
        order.first_with(&self.table.rows, |row| !self.follows(row, place))
    }

    fn follows(self, row: &Row, place: Place) -> bool {
        (self.sort.key(row), &row.address) > (place.key, &place.address)
    }

    /// The same from the rows that were found, in any order.
    fn sorted(self, found: &Bits, start: Start, wanted: usize) -> Vec<u32> {
        let rows = found.iter().filter_map(|number| Some((number, self.table.row(number)?)));
        let (mut rows, skip): (Vec<(u64, u32, &Row)>, usize) = match start {
            Start::Offset(offset) => (rows.map(|(number, row)| (self.sort.key(row), number, row)).collect(), offset),
            Start::After(place) => {
                let rows = rows.filter(|(_, row)| self.follows(row, place));
                (rows.map(|(number, row)| (self.sort.key(row), number, row)).collect(), 0)
            }
        };
        let compare = |(key, _, row): &(u64, u32, &Row), (other, _, other_row): &(u64, u32, &Row)| {
            key.cmp(other).then_with(|| row.address.cmp(&other_row.address))
        };
        let needed = skip.saturating_add(wanted);
        if needed < rows.len() {
            rows.select_nth_unstable_by(needed, compare);
            rows.truncate(needed);
        }
        rows.sort_unstable_by(compare);
        rows.into_iter().skip(skip).map(|(_, number, _)| number).collect()
    }
}

/// Takes rows from groups of equal relevance.
struct Groups<'a> {
    reading: Reading<'a>,
    start: Start,
    wanted: usize,
    taken: Vec<u32>,
}

impl<'a> Groups<'a> {
    const fn new(reading: Reading<'a>, start: Start, wanted: usize) -> Self {
        Self { reading, start, wanted, taken: Vec::new() }
    }
}

impl Visitor for Groups<'_> {
    fn has_enough(&self) -> bool {
        self.taken.len() >= self.wanted
    }

    fn skips(&mut self, _: u32, lowest: u32, count: usize) -> bool {
        match &mut self.start {
            Start::Offset(offset) if *offset >= count => {
                *offset = offset.saturating_sub(count);
                true
            }
            Start::Offset(_) => false,
            Start::After(place) => lowest > place.score,
        }
    }

    fn group(&mut self, score: u32, rows: &Bits, count: usize) {
        let start = match self.start {
            Start::After(place) if place.score > score => Start::Offset(0),
            other => other,
        };
        if let Start::Offset(_) = self.start {
            self.start = Start::Offset(0);
        }
        let wanted = self.wanted.saturating_sub(self.taken.len());
        self.taken.extend(self.reading.read(Some(rows), count, start, wanted));
    }
}
