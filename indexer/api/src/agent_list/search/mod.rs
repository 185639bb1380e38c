//! Search by words: a sorted list of all words, each with the rows that have it.

mod words;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use crtx_store::reads::agent_list::AgentSummary;
use fixedbitset::FixedBitSet;
use strsim::osa_distance;

pub use words::words;

/// Most words of a search.
pub const MAX_WORDS: usize = 8;
/// Different words of a description that are searched. Later ones are not.
const MAX_DESCRIPTION_WORDS: usize = 256;
/// Shortest words that are also found with one edit and with two.
const ONE_EDIT_FROM: u32 = 4;
const TWO_EDITS_FROM: u32 = 8;
/// Words that are compared letter by letter with one of a search, and similar words that are used, the nearest first.
const MAX_COMPARED: usize = 20_000;
const MAX_SIMILAR: usize = 256;
/// Begin the entries of a tag and of a creator as a whole. No word contains them.
const TAG: char = '\u{1}';
const CREATOR: char = '\u{2}';

/// The fields of an agent that are searched, the best first.
#[derive(Clone, Copy)]
enum Field {
    Name,
    Tags,
    Tagline,
    Description,
}

/// How a word was found.
#[derive(Clone, Copy)]
enum MatchKind {
    Exact,
    Prefix,
    Typo,
}

/// A row, and the best of its fields that have a word: the field is in the last two bits.
#[derive(Clone, Copy, Debug)]
struct Posting(u32);

impl Posting {
    const fn new(row: u32, field: Field) -> Self {
        Self((row << 2) | field as u32)
    }

    const fn row(self) -> usize {
        (self.0 >> 2) as usize
    }

    /// The score of a match, at least 1. A typo never scores better than the word itself, and the scores of eight words fit
    /// into a byte.
    const fn score(self, kind: MatchKind) -> u8 {
        // From 3 for a name to 0 for a description.
        let quality = 3_u8.saturating_sub((self.0 & 3) as u8);
        match kind {
            MatchKind::Exact => quality.saturating_mul(2).saturating_add(6),
            MatchKind::Prefix => quality.saturating_mul(2).saturating_add(5),
            MatchKind::Typo => quality.saturating_add(1),
        }
    }
}

/// The entry of a tag as a whole, for the filter by tags.
pub fn tag_entry(tag: &str) -> String {
    format!("{TAG}{tag}")
}

pub fn creator_entry(creator: &str) -> String {
    format!("{CREATOR}{creator}")
}

/// Texts that are not in the index yet.
#[derive(Debug, Default)]
pub struct Texts {
    entries: HashMap<String, Vec<Posting>>,
    rows: FixedBitSet,
}

impl Texts {
    pub fn has(&self, row: u32) -> bool {
        self.rows.contains(row as usize)
    }

    pub fn add(&mut self, row: u32, agent: &AgentSummary, description: &str) {
        self.rows.grow_and_insert(row as usize);
        for (entry, field) in entries(agent, description) {
            self.entries.entry(entry).or_default().push(Posting::new(row, field));
        }
    }
}

/// The entries of an agent, each with the best field that has it.
fn entries(agent: &AgentSummary, description: &str) -> HashMap<String, Field> {
    let mut entries = HashMap::from([(creator_entry(&agent.creator.pubkey), Field::Tags)]);
    // The best field comes first.
    let mut add = |entry: String, field: Field| {
        entries.entry(entry).or_insert(field);
    };
    words(&agent.name).for_each(|word| add(word, Field::Name));
    for tag in &agent.tags {
        words(tag).for_each(|word| add(word, Field::Tags));
        add(tag_entry(tag), Field::Tags);
    }
    words(&agent.tagline).for_each(|word| add(word, Field::Tagline));
    let most = entries.len().saturating_add(MAX_DESCRIPTION_WORDS);
    for word in words(description) {
        if entries.len() < most
            && let Entry::Vacant(new) = entries.entry(word)
        {
            new.insert(Field::Description);
        }
    }
    entries
}

/// The searched texts of all rows: entries in the order of their texts.
#[derive(Debug, Default)]
pub struct Index {
    entries: Vec<(Shape, Arc<IndexEntry>)>,
}

/// A word or a whole tag or creator, and the rows that have it.
#[derive(Debug)]
struct IndexEntry {
    text: Box<str>,
    rows: Box<[Posting]>,
}

impl Index {
    /// Replaces the texts of outdated rows by new ones. Looks at every entry, because nothing lists the entries of a row.
    pub fn changed(&self, outdated: &FixedBitSet, mut texts: Texts) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len().saturating_add(texts.entries.len()));
        for (shape, entry) in &self.entries {
            let new = texts.entries.remove(&*entry.text);
            let is_outdated = |posting: &Posting| outdated.contains(posting.row());
            if new.is_none() && !entry.rows.iter().any(is_outdated) {
                entries.push((*shape, Arc::clone(entry)));
                continue;
            }
            let kept = entry.rows.iter().copied().filter(|posting| !is_outdated(posting));
            let rows: Box<[_]> = kept.chain(new.into_iter().flatten()).collect();
            if !rows.is_empty() {
                entries.push((*shape, Arc::new(IndexEntry { text: entry.text.clone(), rows })));
            }
        }
        entries.extend(texts.entries.into_iter().map(|(text, rows)| {
            let entry = IndexEntry { text: text.into(), rows: rows.into() };
            (Shape::of(&entry.text), Arc::new(entry))
        }));
        // The earlier entries are sorted already, so few comparisons are enough.
        entries.sort_by(|(_, one), (_, other)| one.text.cmp(&other.text));
        Self { entries }
    }

    /// The rows of an entry.
    pub fn rows(&self, entry: &str) -> impl Iterator<Item = usize> {
        self.find(entry).into_iter().flat_map(|entry| entry.rows.iter().map(|posting| posting.row()))
    }

    /// How well each of so many rows fits all words: exactly, with a typo, or as the beginning of a word, if it is the
    /// last. 0: it does not.
    pub fn scores(&self, words: &[String], rows: usize) -> Vec<u8> {
        let mut sums = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let mut best = vec![0_u8; rows];
            let mut find = |kind: MatchKind, entry: &IndexEntry| {
                for posting in &entry.rows {
                    if let Some(best) = best.get_mut(posting.row()) {
                        *best = posting.score(kind).max(*best);
                    }
                }
            };
            self.find(word).into_iter().for_each(|entry| find(MatchKind::Exact, entry));
            if at.saturating_add(1) == words.len() {
                self.with_prefix(word).for_each(|entry| find(MatchKind::Prefix, entry));
            }
            self.similar(word).into_iter().for_each(|entry| find(MatchKind::Typo, entry));
            if at == 0 {
                sums = best;
            } else {
                let both = |(sum, best): (u8, u8)| if sum.min(best) == 0 { 0 } else { sum.saturating_add(best) };
                sums = sums.into_iter().zip(best).map(both).collect();
            }
        }
        sums
    }

    fn find(&self, text: &str) -> Option<&IndexEntry> {
        let at = self.entries.binary_search_by(|(_, entry)| (*entry.text).cmp(text)).ok()?;
        self.entries.get(at).map(|(_, entry)| &**entry)
    }

    fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = &IndexEntry> {
        let first = self.entries.partition_point(|(_, entry)| *entry.text < *prefix);
        let from = self.entries.get(first..).unwrap_or_default().iter().map(|(_, entry)| &**entry);
        from.take_while(move |entry| entry.text.starts_with(prefix))
    }

    /// Words with few edits of this one, and not the word itself.
    fn similar(&self, word: &str) -> Vec<&IndexEntry> {
        let wanted = Shape::of(word);
        let edits = match wanted.chars {
            TWO_EDITS_FROM.. => 2,
            ONE_EDIT_FROM.. => 1,
            _ => return Vec::new(),
        };
        let near = self.entries.iter().filter(|(shape, _)| shape.is_near(wanted, edits)).take(MAX_COMPARED);
        let mut similar: Vec<(usize, &IndexEntry)> = near
            .map(|(_, entry)| (osa_distance(word, &entry.text), &**entry))
            .filter(|(distance, _)| (1..=edits as usize).contains(distance))
            .collect();
        similar.sort_by_key(|(distance, _)| *distance);
        similar.into_iter().take(MAX_SIMILAR).map(|(_, entry)| entry).collect()
    }
}

/// The length of a word and its letters, which tell most words apart without comparing them.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// 0: never found with a typo.
    chars: u32,
    /// One bit for each letter in the word.
    letters: u64,
}

impl Shape {
    /// A word with a digit has no shape: another number is another thing, not a typo.
    fn of(word: &str) -> Self {
        let mut shape = Self::default();
        for c in word.chars() {
            if !c.is_alphabetic() || c.is_numeric() {
                return Self::default();
            }
            shape.chars = shape.chars.saturating_add(1);
            shape.letters |= 1_u64.wrapping_shl(u32::from(c));
        }
        shape
    }

    /// Whether so few edits can turn a word of one shape into a word of the other. An edit changes at most two letters of
    /// the set.
    const fn is_near(self, other: Self, edits: u32) -> bool {
        self.chars > 0
            && self.chars.abs_diff(other.chars) <= edits
            && (self.letters ^ other.letters).count_ones() <= edits.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use crtx_protocol::usdc::UsdcBase;
    use crtx_store::{
        Json,
        reads::{ListingStatus, agent_list::CreatorSummary},
    };
    use proptest::prelude::*;

    use super::*;

    fn agent(name: &str, tags: &[&str], tagline: &str) -> AgentSummary {
        AgentSummary {
            address: Default::default(),
            agent_id: String::new(),
            name: name.to_owned(),
            tagline: tagline.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            binding: false,
            price_per_call_usdc: UsdcBase(0),
            total_executions: 0,
            trust_usdc: UsdcBase(0),
            success_rate: 0.0,
            avg_execution_time_ms: 0,
            creator: Json(CreatorSummary { pubkey: "creator".to_owned(), verified: false }),
            status: ListingStatus::Active,
            created_at: Default::default(),
            metadata_hash: Vec::new(),
        }
    }

    #[test]
    fn a_description_has_a_bounded_number_of_words() {
        let long: Vec<String> = (0..2_000).map(|number| format!("word{number}")).collect();
        let entries = entries(&agent("A name", &["data"], ""), &format!("name {}", long.join(" ")));
        // The name's two words, the tag as a word and as a whole, and the creator.
        assert_eq!(entries.len(), 5 + MAX_DESCRIPTION_WORDS);
        assert!(entries.contains_key("word255") && !entries.contains_key("word256"));
        assert!(matches!(entries["name"], Field::Name));
        assert!(matches!(entries[&tag_entry("data")], Field::Tags));
    }

    #[test]
    fn texts_of_other_rows_stay_when_those_of_one_are_replaced() {
        let index = |index: &Index, row: u32, name: &str| {
            let (mut outdated, mut texts) = (FixedBitSet::new(), Texts::default());
            outdated.grow_and_insert(row as usize);
            texts.add(row, &agent(name, &["data"], ""), "");
            index.changed(&outdated, texts)
        };
        let index = [(0, "first"), (1, "second"), (0, "third")]
            .into_iter()
            .fold(Index::default(), |before, (row, name)| index(&before, row, name));
        let rows = |entry: &str| index.rows(entry).collect::<Vec<_>>();
        assert_eq!((rows("second"), rows("third"), rows("first")), (vec![1], vec![0], vec![]));
        assert_eq!(rows(&tag_entry("data")), [1, 0]);
        assert!(index.entries.iter().all(|(_, entry)| *entry.text != *"first"), "an entry without rows is gone");
    }

    proptest! {
        #[test]
        fn no_similar_word_is_overlooked(
            words in proptest::collection::btree_set("[a-e]{1,10}", 1..40),
            word in "[a-e]{4,9}",
        ) {
            let mut texts = Texts::default();
            let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
            texts.add(0, &agent(&all.join(" "), &[], ""), "");
            let index = Index::default().changed(&FixedBitSet::new(), texts);
            let mut found: Vec<&str> = index.similar(&word).into_iter().map(|entry| &*entry.text).collect();
            found.sort_unstable();
            let edits = if word.len() < 8 { 1 } else { 2 };
            all.retain(|other| (1..=edits).contains(&osa_distance(&word, other)));
            prop_assert_eq!(found, all);
        }
    }
}
