//! Answers a question about the list: which rows, how many in all, and where the next page begins.
//!
//! Every filter becomes a set of rows, and a page is read off the order that was asked for. So a question costs a few
//! passes over all rows at most, whatever it asks.

use std::{borrow::Cow, cmp::Reverse};

use fixedbitset::FixedBitSet;

use super::{
    row::{Row, Sort},
    search::{creator_entry, tag_entry},
    table::Table,
};

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
    pub creator: Option<String>,
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

/// The place of a row in an order. It stays the same while other rows change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// 0 in orders that are not by relevance.
    pub score: u8,
    pub key: u64,
    pub agent_id: String,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub fn page(&self, filter: &Filter, ordering: Ordering, start: &Start, limit: usize) -> Page<'_> {
        let fits = (!filter.words.is_empty()).then(|| self.index.scores(&filter.words, self.rows.len()));
        let found = self.found(filter, fits.as_deref());
        let (sort, scores) = match ordering {
            Ordering::By(sort) => (sort, None),
            Ordering::Relevance => (Sort::TotalExecutions, fits.as_deref()),
        };
        let order = self.order(sort);
        let order = scores.map_or(Cow::Borrowed(order), |scores| Cow::Owned(best_first(order, &found, scores)));
        let score = |number: u32| scores.and_then(|scores| scores.get(number as usize)).copied().unwrap_or_default();
        let place = |number: u32| Some((Reverse(score(number)), self.place(sort, number)?));
        let (first, skipped) = match start {
            Start::Offset(offset) => (0, *offset),
            Start::After(Place { score, key, agent_id }) => {
                let last = Some((Reverse(*score), (*key, agent_id.as_str())));
                (order.partition_point(|number| place(*number) <= last), 0)
            }
        };
        let rest = order.get(first..).unwrap_or_default().iter().copied();
        let mut rest = rest.filter(|number| found.contains(*number as usize)).skip(skipped);
        let numbers: Vec<u32> = rest.by_ref().take(limit).collect();
        let last = numbers.last().filter(|_| rest.next().is_some());
        let next = last.and_then(|number| place(*number)).map(|(score, (key, agent_id))| Place {
            score: score.0,
            key,
            agent_id: agent_id.to_owned(),
        });
        let rows = numbers.iter().filter_map(|number| self.row(*number)).collect();
        Page { rows, total: found.count_ones(..), next }
    }

    /// The rows that pass the filter. `scores`: how well each row fits its words.
    fn found(&self, filter: &Filter, scores: Option<&[u8]>) -> FixedBitSet {
        let mut found = self.listed.clone();
        if let Some(scores) = scores {
            found.intersect_with(&(0..).zip(scores).filter(|(_, score)| **score > 0).map(|(row, _)| row).collect());
        }
        let entries = filter.tags.iter().map(|tag| tag_entry(tag));
        for entry in entries.chain(filter.creator.as_deref().map(creator_entry)) {
            found.intersect_with(&self.index.rows(&entry).collect());
        }
        if filter.verified_only {
            found.intersect_with(&self.verified);
        }
        if filter.min_success_rate > 0.0 {
            let fits = |row: &Row| row.summary.success_rate >= filter.min_success_rate;
            self.keep_first(&mut found, Sort::SuccessRate, fits);
        }
        if filter.min_executions > 0 {
            let fits = |row: &Row| row.summary.total_executions >= filter.min_executions;
            self.keep_first(&mut found, Sort::TotalExecutions, fits);
        }
        if let Some(price) = filter.max_price {
            self.keep_first(&mut found, Sort::PriceAscending, |row| row.summary.price_per_call_usdc.0 <= price);
        }
        found
    }

    /// Keeps the rows at the beginning of an order. Those after them do not fit.
    fn keep_first(&self, found: &mut FixedBitSet, sort: Sort, fits: impl Fn(&Row) -> bool) {
        let order = self.order(sort);
        let (first, rest) = order.split_at(order.partition_point(|number| self.row(*number).is_some_and(&fits)));
        if first.len() < rest.len() {
            found.intersect_with(&first.iter().map(|number| *number as usize).collect());
        } else {
            rest.iter().for_each(|number| found.set(*number as usize, false));
        }
    }
}

/// The rows that were found, those with the highest scores first. Rows with equal scores stay in their order.
fn best_first(order: &[u32], found: &FixedBitSet, scores: &[u8]) -> Vec<u32> {
    let mut by_score = vec![Vec::new(); usize::from(u8::MAX).saturating_add(1)];
    for number in order.iter().filter(|number| found.contains(**number as usize)) {
        let score = scores.get(*number as usize).copied().unwrap_or_default();
        if let Some(rows) = by_score.get_mut(usize::from(score)) {
            rows.push(*number);
        }
    }
    by_score.into_iter().rev().flatten().collect()
}
