//! Answers a question about the list: which rows, how many in all, and where the next page begins.
//!
//! Every filter becomes a set of rows, and a page is read off the order that was asked for. So a question costs a few
//! passes over all rows at most, whatever it asks.

use std::{borrow::Cow, cmp::Reverse};

use crtx_store::reads::{Listed, Start, agent_list::AgentSummary};
use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::{
    search::{creator_entry, tag_entry},
    sort::AgentSort,
    table::Table,
};

/// Which agents to list.
#[derive(Clone, Debug, Default, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentListQuery {
    /// Agents per page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    pub limit: u32,
    /// Agents to skip. Deeper pages are reached with `cursor`.
    #[param(value_type = Option<u64>, minimum = 0, maximum = 10_000, default = 0)]
    pub offset: u64,
    /// The `next_cursor` of an answer to the same request: the page after that one. Not together with `offset`.
    #[param(max_length = 512)]
    pub cursor: Option<String>,
    /// Words to search for in name, tagline, tags and description: agents that have all of them, the last one also as
    /// the beginning of a word. Words of 4 letters may differ by one edit, of 8 by two.
    #[param(value_type = Option<String>, min_length = 1, max_length = 200, example = "contract audit")]
    pub q: Vec<String>,
    /// Comma-separated tags: agents that have all of them.
    #[param(value_type = Option<String>, example = "data,finance",
        pattern = "^ *[a-z0-9_-]{1,32} *(, *[a-z0-9_-]{1,32} *){0,19}$")]
    pub tags: Vec<String>,
    /// Only agents of this creator: the address of its wallet.
    pub creator: Option<String>,
    #[param(value_type = Option<f64>, minimum = 0.0, maximum = 1.0)]
    pub min_success_rate: f64,
    /// Minimum total executions.
    #[param(value_type = Option<u64>, minimum = 0)]
    pub min_executions: u64,
    /// Highest price of one execution, in USDC with at most 6 decimals.
    #[param(value_type = Option<f64>, minimum = 0.0, example = 0.05)]
    pub max_price: Option<u64>,
    /// Only agents of verified creators.
    #[param(value_type = Option<bool>, default = false)]
    pub verified_only: bool,
    /// `total_executions`, `success_rate`, `price_asc`, `price_desc`, `created_at` (newest first), `trust` (highest
    /// `trust_usdc` first) or, with `q`, `relevance`. The default is `relevance` with `q`, otherwise `total_executions`.
    #[param(inline, required = false)]
    pub sort: AgentSort,
}

/// The place of a row in an order. It stays the same while other rows change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPosition {
    /// 0 in orders that are not by relevance.
    pub score: u8,
    pub key: u64,
    pub agent_id: String,
}

impl Table {
    /// The page of a question that begins at `start`.
    pub fn page(&self, query: &AgentListQuery, start: &Start<ListPosition>) -> Listed<&AgentSummary, ListPosition> {
        let fits = (!query.q.is_empty()).then(|| self.index.scores(&query.q, self.rows.len()));
        let found = self.found(query, fits.as_deref());
        let sort = query.sort;
        let scores = fits.as_deref().filter(|_| sort == AgentSort::Relevance);
        let order = self.order(sort);
        let order = scores.map_or(Cow::Borrowed(order), |scores| Cow::Owned(best_first(order, &found, scores)));
        let score = |number: u32| scores.and_then(|scores| scores.get(number as usize)).copied().unwrap_or_default();
        let place = |number: u32| Some((Reverse(score(number)), self.place(sort, number)?));
        let (first, skipped) = match start {
            Start::Offset(offset) => (0, usize::try_from(*offset).unwrap_or(usize::MAX)),
            Start::After(ListPosition { score, key, agent_id }) => {
                let last = Some((Reverse(*score), (*key, agent_id.as_str())));
                (order.partition_point(|number| place(*number) <= last), 0)
            }
        };
        let rest = order.get(first..).unwrap_or_default().iter().copied();
        let mut rest = rest.filter(|number| found.contains(*number as usize)).skip(skipped);
        let numbers: Vec<u32> = rest.by_ref().take(query.limit as usize).collect();
        let last = numbers.last().filter(|_| rest.next().is_some());
        let next = last.and_then(|number| place(*number)).map(|(score, (key, agent_id))| ListPosition {
            score: score.0,
            key,
            agent_id: agent_id.to_owned(),
        });
        let items = numbers.iter().filter_map(|number| self.row(*number)).collect();
        Listed { items, total: found.count_ones(..) as u64, next }
    }

    /// The rows that pass the filter. `scores`: how well each row fits its words.
    fn found(&self, query: &AgentListQuery, scores: Option<&[u8]>) -> FixedBitSet {
        let mut found = self.listed.clone();
        if let Some(scores) = scores {
            found.intersect_with(&(0..).zip(scores).filter(|(_, score)| **score > 0).map(|(row, _)| row).collect());
        }
        let entries = query.tags.iter().map(|tag| tag_entry(tag));
        for entry in entries.chain(query.creator.as_deref().map(creator_entry)) {
            found.intersect_with(&self.index.rows(&entry).collect());
        }
        if query.verified_only {
            found.intersect_with(&self.verified);
        }
        if query.min_success_rate > 0.0 {
            self.keep_first(&mut found, AgentSort::SuccessRate, |row| row.success_rate >= query.min_success_rate);
        }
        if query.min_executions > 0 {
            let fits = |row: &AgentSummary| row.total_executions >= query.min_executions;
            self.keep_first(&mut found, AgentSort::TotalExecutions, fits);
        }
        if let Some(price) = query.max_price {
            self.keep_first(&mut found, AgentSort::PriceAsc, |row| row.price_per_call_usdc.0 <= price);
        }
        found
    }

    /// Keeps the rows at the beginning of an order. Those after them do not fit.
    fn keep_first(&self, found: &mut FixedBitSet, sort: AgentSort, fits: impl Fn(&AgentSummary) -> bool) {
        let order = self.order(sort);
        let fitting = order.partition_point(|number| self.row(*number).is_some_and(&fits));
        order.iter().skip(fitting).for_each(|number| found.set(*number as usize, false));
    }
}

/// The rows that were found, those with the highest scores first. Rows with equal scores stay in their order.
fn best_first(order: &[u32], found: &FixedBitSet, scores: &[u8]) -> Vec<u32> {
    let mut rows: Vec<u32> = order.iter().copied().filter(|number| found.contains(*number as usize)).collect();
    rows.sort_by_key(|number| Reverse(scores.get(*number as usize).copied().unwrap_or_default()));
    rows
}
