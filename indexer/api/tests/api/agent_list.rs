//! The list in memory against a plain list: random agents, changes, filters, orders, pages and cursors.

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;
use crtx_api::agent_list::{AgentListQuery, AgentSort, ListPosition, Model, Table, words};
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use crtx_store::{
    Json,
    reads::{
        Listed, ListingStatus, Start,
        agent_list::{AgentSummary, CreatorSummary},
    },
};
use proptest::prelude::*;
use solana_pubkey::Pubkey;

const AGENTS: u8 = 150;
const CREATORS: u8 = 5;
const TAGS: [&str; 4] = ["data", "code", "legal", "own-tag"];
const WORDS: [&str; 8] = ["audit", "audio", "contract", "contracts", "translate", "data", "über", "gpt4"];

/// What a plain list has of an agent.
#[derive(Clone, Debug)]
struct Plain {
    creator: u8,
    price: u64,
    executions: u64,
    rate: f64,
    trust: u64,
    created_at: i64,
    name: String,
    tagline: String,
    tags: Vec<String>,
    description: String,
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Plain),
    /// Numbers alone, as each call changes them.
    Count(u8, u64, f64),
    Remove(u8),
    Verify(u8, bool),
    Publish,
}

fn address(number: u8) -> Pubkey {
    // Addresses of 43 and of 44 characters.
    let mut bytes = [number.wrapping_mul(37); 32];
    bytes[0] = number.wrapping_mul(5);
    Pubkey::new_from_array(bytes)
}

fn creator(number: u8) -> String {
    Pubkey::new_from_array([number + 200; 32]).to_string()
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..4).prop_map(|words| words.join(" "))
}

fn plain() -> impl Strategy<Value = Plain> {
    let tags = proptest::collection::btree_set(proptest::sample::select(&TAGS[..]), 1..3);
    let numbers = (0_u64..5, 0_u64..5, 0_u8..=4, 0_u64..4, -3_i64..3);
    (0..CREATORS, numbers, text(), text(), tags, text()).prop_map(
        |(creator, numbers, name, tagline, tags, description)| {
            let (price, executions, rate, trust, created_at) = numbers;
            let tags = tags.into_iter().map(str::to_owned).collect();
            Plain {
                creator,
                price,
                executions,
                rate: f64::from(rate) / 4.0,
                trust,
                created_at,
                name,
                tagline,
                tags,
                description,
            }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..AGENTS, plain()).prop_map(|(agent, plain)| Step::Put(agent, plain)),
        4 => (0..AGENTS, 0_u64..5, 0_u8..=4).prop_map(|(agent, n, rate)| Step::Count(agent, n, f64::from(rate) / 4.0)),
        2 => (0..AGENTS).prop_map(Step::Remove),
        1 => (0..CREATORS, any::<bool>()).prop_map(|(creator, verified)| Step::Verify(creator, verified)),
        2 => Just(Step::Publish),
    ];
    proptest::collection::vec(step, 1..160)
}

fn filter() -> impl Strategy<Value = AgentListQuery> {
    let tags = proptest::collection::vec(proptest::sample::select(&TAGS[..]), 0..3);
    let words = proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..3);
    let numbers = (0_u8..=4, 0_u64..6, proptest::option::of(0_u64..6));
    (tags, numbers, any::<bool>(), proptest::option::of(0..CREATORS), words).prop_map(
        |(tags, (rate, min_executions, max_price), verified_only, of, words)| AgentListQuery {
            tags: tags.into_iter().map(str::to_owned).collect(),
            min_success_rate: f64::from(rate) / 4.0,
            min_executions,
            max_price,
            verified_only,
            creator: of.map(creator),
            q: words.iter().flat_map(|word| crtx_api::agent_list::words(word)).collect(),
            ..AgentListQuery::default()
        },
    )
}

fn sort() -> impl Strategy<Value = AgentSort> {
    prop_oneof![6 => proptest::sample::select(&AgentSort::KEPT[..]), 1 => Just(AgentSort::Relevance)]
}

/// The page of some agents, in an order.
fn page<'a>(
    table: &'a Table,
    filter: &AgentListQuery,
    sort: AgentSort,
    start: &Start<ListPosition>,
    limit: usize,
) -> Listed<&'a AgentSummary, ListPosition> {
    table.page(&AgentListQuery { sort, limit: limit as u32, ..filter.clone() }, start)
}

/// The plain list.
#[derive(Default)]
struct Market {
    agents: BTreeMap<u8, Plain>,
    verified: BTreeSet<u8>,
}

/// How well a row fits, counted word by word. `None`: it does not.
fn score(agent: &Plain, searched: &[String]) -> Option<u32> {
    let fields = [(&agent.name, 0_u32), (&agent.tags.join(" "), 1), (&agent.tagline, 2), (&agent.description, 3)];
    let mut sum = 0;
    for (at, word) in searched.iter().enumerate() {
        let length = word.chars().count();
        let edits = if length >= 8 { 2 } else { usize::from(length >= 4) };
        let digits = |text: &str| text.chars().any(char::is_numeric);
        let of = |text: &String, field: u32| {
            words(text)
                .filter_map(|other| {
                    if other == *word {
                        Some(12 - 2 * field)
                    } else if at + 1 == searched.len() && other.starts_with(word.as_str()) {
                        Some(11 - 2 * field)
                    } else if !digits(&other) && !digits(word) && edit_distance(&other, word) <= edits {
                        Some(4 - field)
                    } else {
                        None
                    }
                })
                .max()
        };
        sum += fields.iter().filter_map(|(text, field)| of(text, *field)).max()?;
    }
    Some(sum)
}

/// Insertions, deletions, replacements and exchanges of neighbours, by their definition.
fn edit_distance(one: &str, other: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(table[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    table[a.len()][b.len()]
}

impl Market {
    /// Addresses that pass a filter, in their order.
    fn list(&self, filter: &AgentListQuery, sort: AgentSort) -> Vec<String> {
        let mut all: Vec<_> = self
            .agents
            .iter()
            .filter(|(_, it)| {
                filter.tags.iter().all(|tag| it.tags.contains(tag))
                    && it.rate >= filter.min_success_rate
                    && it.executions >= filter.min_executions
                    && filter.max_price.is_none_or(|most| it.price <= most)
                    && (!filter.verified_only || self.verified.contains(&it.creator))
                    && filter.creator.as_ref().is_none_or(|wanted| creator(it.creator) == *wanted)
            })
            .filter_map(|(number, it)| {
                let score = score(it, &filter.q)?;
                let key = |value: f64| -value;
                let key = match sort {
                    AgentSort::TotalExecutions => (0, key(it.executions as f64)),
                    AgentSort::SuccessRate => (0, key(it.rate)),
                    AgentSort::PriceAsc => (0, it.price as f64),
                    AgentSort::PriceDesc => (0, key(it.price as f64)),
                    AgentSort::CreatedAt => (0, key(it.created_at as f64)),
                    AgentSort::Trust => (0, key(it.trust as f64)),
                    AgentSort::Relevance => (u32::MAX - score, key(it.executions as f64)),
                };
                Some((key, address(*number).to_string()))
            })
            .collect();
        all.sort_by(|(a, one), (b, other)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(one.cmp(other)));
        all.into_iter().map(|(_, address)| address).collect()
    }

    fn apply(&mut self, step: &Step, model: &mut Model) {
        match step {
            Step::Put(number, plain) => {
                self.agents.insert(*number, plain.clone());
                self.put(*number, model);
            }
            Step::Count(number, executions, rate) => {
                if let Some(agent) = self.agents.get_mut(number) {
                    (agent.executions, agent.rate) = (*executions, *rate);
                    self.put(*number, model);
                }
            }
            Step::Remove(number) => {
                self.agents.remove(number);
                model.remove(&address(*number));
            }
            Step::Verify(number, verified) => {
                if *verified {
                    self.verified.insert(*number);
                } else {
                    self.verified.remove(number);
                }
                // A look reads all agents of a creator that changed.
                let of_creator = self.agents.iter().filter(|(_, it)| it.creator == *number);
                of_creator.for_each(|(agent, _)| self.put(*agent, model));
            }
            Step::Publish => drop(model.publish()),
        }
    }

    fn put(&self, number: u8, model: &mut Model) {
        let Plain { creator: of, price, executions, rate, trust, created_at, name, tagline, tags, description } =
            &self.agents[&number];
        let texts = format!("{of} {name} {tagline} {tags:?} {description}");
        let agent = AgentSummary {
            address: address(number),
            agent_id: address(number).to_string(),
            creator: Json(CreatorSummary { pubkey: creator(*of), verified: self.verified.contains(of) }),
            price_per_call_usdc: UsdcBase(*price),
            total_executions: *executions,
            trust_usdc: UsdcBase(*trust),
            status: ListingStatus::Active,
            success_rate: *rate,
            avg_execution_time_ms: 0,
            created_at: DateTime::from_timestamp(*created_at, 0).unwrap(),
            binding: false,
            metadata_hash: ResultHash::of(texts.as_bytes()).0.to_vec(),
            name: name.clone(),
            tagline: tagline.clone(),
            tags: tags.clone(),
        };
        let description = model.needs_texts(&agent).then_some(description.as_str());
        model.put(agent, description);
    }
}

fn shown(page: &Listed<&AgentSummary, ListPosition>) -> Vec<String> {
    page.items.iter().map(|row| row.agent_id.clone()).collect()
}

/// All pages from the first to the last, by cursor.
fn follow(table: &Table, filter: &AgentListQuery, sort: AgentSort, limit: usize) -> Vec<String> {
    let (mut all, mut start) = (Vec::new(), Start::Offset(0));
    loop {
        let page = page(table, filter, sort, &start, limit);
        all.extend(shown(&page));
        match page.next {
            Some(place) => start = Start::After(place),
            None => return all,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_list_is_what_a_plain_list_shows(
        steps in steps(),
        questions in proptest::collection::vec((filter(), sort(), 0_usize..70, 1_usize..9), 1..12),
    ) {
        let (mut market, mut model) = (Market::default(), Model::default());
        for part in steps.chunks(40) {
            part.iter().for_each(|step| market.apply(step, &mut model));
            let table = model.publish();
            for (filter, sort, offset, limit) in &questions {
                let wanted = market.list(filter, *sort);
                let page = page(&table, filter, *sort, &Start::Offset(*offset as u64), *limit);
                prop_assert_eq!(page.total, wanted.len() as u64, "{:?}", filter);
                let part: Vec<String> = wanted.iter().skip(*offset).take(*limit).cloned().collect();
                prop_assert_eq!(shown(&page), part, "{:?} {:?} {}", filter, sort, offset);
                prop_assert_eq!(page.next.is_some(), offset + limit < wanted.len() && !page.items.is_empty());
                prop_assert_eq!(follow(&table, filter, *sort, *limit), wanted, "{:?} {:?}", filter, sort);
            }
        }
    }

    /// Whatever changes between two pages: who does not change is on one page, once.
    #[test]
    fn a_cursor_neither_skips_nor_repeats_what_stands_still(
        before in steps(),
        between in proptest::collection::vec(steps(), 1..6),
        filter in filter(),
        sort in proptest::sample::select(&AgentSort::KEPT[..]),
    ) {
        let (mut market, mut model) = (Market::default(), Model::default());
        before.iter().for_each(|step| market.apply(step, &mut model));
        let mut table = model.publish();
        let moved: BTreeSet<String> = between
            .iter()
            .flatten()
            .filter_map(|step| match step {
                Step::Put(number, _) | Step::Count(number, ..) | Step::Remove(number) => Some(*number),
                _ => None,
            })
            .chain(verified(&between, &market))
            .map(|number| address(number).to_string())
            .collect();
        let still: Vec<String> =
            market.list(&filter, sort).into_iter().filter(|agent| !moved.contains(agent)).collect();
        let (mut seen, mut start, mut changes) = (Vec::new(), Start::Offset(0), between.iter());
        loop {
            let page = page(&table, &filter, sort, &start, 3);
            seen.extend(shown(&page));
            let Some(place) = page.next else { break };
            start = Start::After(place);
            if let Some(steps) = changes.next() {
                steps.iter().for_each(|step| market.apply(step, &mut model));
                table = model.publish();
            }
        }
        seen.retain(|agent| !moved.contains(agent));
        prop_assert_eq!(seen, still);
    }
}

/// Agents of creators whose verification changes.
fn verified(steps: &[Vec<Step>], market: &Market) -> Vec<u8> {
    let creators: BTreeSet<u8> = steps
        .iter()
        .flatten()
        .filter_map(|step| match step {
            Step::Verify(creator, _) => Some(*creator),
            _ => None,
        })
        .collect();
    market.agents.iter().filter(|(_, it)| creators.contains(&it.creator)).map(|(number, _)| *number).collect()
}
