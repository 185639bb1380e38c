//! A part of the search index, which never changes: sorted entries, each with the rows that have it.
//!
//! Rows of an entry are a list, or sets of bits if the list would be longer. So every question costs at most a fixed share
//! of the number of rows.

use std::{cmp::Ordering, collections::HashMap, ops::Range};

use super::{
    super::bits::Bits,
    document::{Field, is_word},
    shapes::Shapes,
};

/// An entry that more than one row of so many has is kept as sets of bits.
const DENSE_FROM: usize = 32;
/// Beginnings of words, up to so many characters, have sets of their own if they are frequent: if their lists have more
/// entries than one for every so many rows.
const FREQUENT_PREFIX_CHARS: usize = 3;
const FREQUENT_FROM: usize = 8;

/// A row and the mask of its fields, in one number.
pub type Posting = u32;
const MASK_BITS: u32 = 4;
const MASK: u32 = 0xf;
/// Rows that a posting can name.
pub const MAX_ROWS: u32 = u32::MAX >> MASK_BITS;

pub const fn posting(row: u32, mask: u32) -> Posting {
    (row << MASK_BITS) | (mask & MASK)
}

pub const fn row_of(posting: Posting) -> u32 {
    posting >> MASK_BITS
}

/// The rows of an entry, one set for each field.
#[derive(Debug, Default)]
pub struct Dense([Option<Bits>; 4]);

/// Where the rows of an entry go.
pub trait Sink {
    fn row(&mut self, row: u32, field: Field);
    fn rows(&mut self, rows: &Bits, field: Field);
}

#[derive(Debug, Default)]
pub struct Segment {
    text: String,
    /// The end of each entry in `text`, and of its list in `postings`.
    ends: Vec<(u32, u32)>,
    postings: Vec<Posting>,
    dense: HashMap<usize, Dense>,
    frequent: HashMap<Box<str>, Dense>,
    shapes: Shapes,
    documents: usize,
}

impl Dense {
    fn insert(&mut self, posting: Posting, rows: usize) {
        for (set, field) in self.0.iter_mut().zip(Field::ALL) {
            if posting & field.bit() != 0 {
                set.get_or_insert_with(|| Bits::empty(rows)).insert(row_of(posting));
            }
        }
    }

    fn add(&mut self, other: &Self) {
        for (set, other) in self.0.iter_mut().zip(&other.0) {
            if let Some(other) = other {
                set.get_or_insert_default().add(other);
            }
        }
    }

    fn give(&self, sink: &mut impl Sink) {
        for (set, field) in self.0.iter().zip(Field::ALL) {
            if let Some(set) = set {
                sink.rows(set, field);
            }
        }
    }

    fn postings(&self) -> Vec<Posting> {
        let mut masks: HashMap<u32, u32> = HashMap::new();
        for (set, field) in self.0.iter().zip(Field::ALL) {
            for row in set.iter().flat_map(Bits::iter) {
                *masks.entry(row).or_default() |= field.bit();
            }
        }
        masks.into_iter().map(|(row, mask)| posting(row, mask)).collect()
    }
}

impl Segment {
    /// Agents that were put into it.
    pub const fn documents(&self) -> usize {
        self.documents
    }

    pub const fn entries(&self) -> usize {
        self.ends.len()
    }

    /// The text of an entry.
    pub fn entry(&self, index: usize) -> &str {
        let (start, end) = self.bounds(index, |(text, _)| text);
        self.text.get(start..end).unwrap_or_default()
    }

    /// The entry with this text.
    pub fn find(&self, text: &str) -> Option<usize> {
        let index = self.first_not_below(text);
        (self.entry(index) == text).then_some(index)
    }

    /// Gives the rows of an entry.
    pub fn rows_of(&self, index: usize, sink: &mut impl Sink) {
        if let Some(dense) = self.dense.get(&index) {
            dense.give(sink);
        }
        for posting in self.list(index) {
            sink.row(row_of(*posting), Field::best_of(posting & MASK));
        }
    }

    /// Gives the rows of all words that begin so.
    pub fn rows_of_prefix(&self, prefix: &str, sink: &mut impl Sink) {
        match self.frequent.get(prefix) {
            Some(dense) => dense.give(sink),
            None => self.with_prefix(prefix).for_each(|index| self.rows_of(index, sink)),
        }
    }

    /// Words that are at most `edits` edits from this one.
    pub fn similar(&self, word: &str, edits: usize) -> Vec<usize> {
        self.shapes.similar(word, edits, |index| self.entry(index))
    }

    /// The rows of an entry as a list.
    pub fn postings(&self, index: usize) -> Vec<Posting> {
        self.dense.get(&index).map_or_else(|| self.list(index).to_vec(), Dense::postings)
    }

    fn list(&self, index: usize) -> &[Posting] {
        let (start, end) = self.bounds(index, |(_, postings)| postings);
        self.postings.get(start..end).unwrap_or_default()
    }

    fn bounds(&self, index: usize, part: impl Fn((u32, u32)) -> u32) -> (usize, usize) {
        let end = |index: usize| self.ends.get(index).map_or(0, |ends| part(*ends) as usize);
        (index.checked_sub(1).map_or(0, end), end(index))
    }

    /// The first entry that does not sort before a text.
    fn first_not_below(&self, text: &str) -> usize {
        self.first_that(|entry| entry.cmp(text).is_ge())
    }

    /// The first entry with a property that all later ones have.
    fn first_that(&self, has: impl Fn(&str) -> bool) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if has(self.entry(middle)) {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        low
    }

    fn with_prefix(&self, prefix: &str) -> Range<usize> {
        let start = self.first_not_below(prefix);
        start..self.first_that(|entry| entry.cmp(prefix) == Ordering::Greater && !entry.starts_with(prefix)).max(start)
    }
}

/// Makes a segment of entries that come in their order.
pub struct Assembler {
    segment: Segment,
    /// Rows that the table has room for.
    rows: usize,
}

impl Assembler {
    pub fn new(documents: usize, rows: usize) -> Self {
        Self { segment: Segment { documents, ..Segment::default() }, rows }
    }

    pub fn push(&mut self, entry: &str, postings: &[Posting]) {
        let segment = &mut self.segment;
        let index = segment.ends.len();
        segment.text.push_str(entry);
        if is_word(entry) {
            segment.shapes.push(entry, index);
        }
        if postings.len() > self.rows.checked_div(DENSE_FROM).unwrap_or_default() {
            let mut dense = Dense::default();
            postings.iter().for_each(|posting| dense.insert(*posting, self.rows));
            segment.dense.insert(index, dense);
        } else {
            segment.postings.extend_from_slice(postings);
        }
        let end = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        segment.ends.push((end(segment.text.len()), end(segment.postings.len())));
    }

    pub fn finish(mut self) -> Segment {
        for chars in 1..=FREQUENT_PREFIX_CHARS {
            self.find_frequent(chars);
        }
        self.segment.shapes.sort();
        self.segment.text.shrink_to_fit();
        self.segment.postings.shrink_to_fit();
        self.segment
    }

    /// Makes the sets of frequent prefixes of so many characters.
    fn find_frequent(&mut self, chars: usize) {
        let segment = &self.segment;
        let mut found = Vec::new();
        let mut start = segment.first_that(is_word);
        while start < segment.entries() {
            let Some(prefix) = first_chars(segment.entry(start), chars) else {
                start = start.saturating_add(1);
                continue;
            };
            let words = segment.with_prefix(prefix);
            let listed: usize = words.clone().map(|index| segment.list(index).len()).sum();
            if listed > self.rows.checked_div(FREQUENT_FROM).unwrap_or_default() {
                let mut dense = Dense::default();
                for index in words.clone() {
                    segment.list(index).iter().for_each(|posting| dense.insert(*posting, self.rows));
                    if let Some(other) = segment.dense.get(&index) {
                        dense.add(other);
                    }
                }
                found.push((prefix.into(), dense));
            }
            start = words.end.max(start.saturating_add(1));
        }
        self.segment.frequent.extend(found);
    }
}

/// The first characters of a word that has so many.
fn first_chars(word: &str, chars: usize) -> Option<&str> {
    let (last, c) = word.char_indices().nth(chars.checked_sub(1)?)?;
    word.get(..last.checked_add(c.len_utf8())?)
}
