//! Search by words. The index is a few segments: each change of texts makes a small one, and small ones are merged into
//! larger ones, so that a text is read about as often as the number of rows has digits.

mod collector;
mod document;
mod score;
mod segment;
mod shapes;
mod words;

use std::sync::Arc;

use super::bits::Bits;
use score::{Finds, Kind};
use segment::{Segment, Sink};

pub use collector::Collector;
pub use document::Document;
pub use score::{Scores, Visitor};
pub use words::words;

/// Words of a search.
pub const MAX_WORDS: usize = 8;
/// A segment is merged with the one before it unless that one is so many times larger.
const GROWTH: usize = 3;

/// Shortest words that are also found with one edit and with two.
const ONE_EDIT_FROM: usize = 4;
const TWO_EDITS_FROM: usize = 8;

/// The searched texts of all rows.
#[derive(Clone, Debug, Default)]
pub struct Index {
    layers: Vec<Layer>,
}

/// A segment, and its rows that have no later text.
#[derive(Clone, Debug)]
struct Layer {
    segment: Arc<Segment>,
    live: Arc<Bits>,
}

impl Index {
    /// The index after texts were removed and others added. `rows` is the room of the table.
    pub fn changed(&self, removed: &Bits, added: Collector, rows: usize) -> Self {
        let mut layers: Vec<Layer> = self.layers.iter().map(|layer| layer.without(removed)).collect();
        if !added.is_empty() {
            let (segment, live) = added.finish(rows);
            layers.push(Layer { segment: Arc::new(segment), live: Arc::new(live) });
        }
        while let [.., one, last] = layers.as_slice()
            && one.segment.documents() < last.segment.documents().saturating_mul(GROWTH)
        {
            let merged = one.merged(last, rows);
            layers.truncate(layers.len().saturating_sub(2));
            layers.push(merged);
        }
        Self { layers }
    }

    /// The rows with a tag.
    pub fn with_tag(&self, tag: &str, rows: usize) -> Bits {
        let entry = document::tag_entry(tag);
        let mut found = Bits::empty(rows);
        for Layer { segment, live } in &self.layers {
            if let Some(index) = segment.find(&entry) {
                segment.rows_of(index, &mut Plain { found: &mut found, live });
            }
        }
        found
    }

    /// The rows of `listed` that fit all words: exactly, with a typo, or as the beginning of a word, if it is the last.
    pub fn search(&self, words: &[String], listed: &Bits, rows: usize) -> Scores {
        let mut scores = Scores::new(listed.clone(), rows);
        for (at, word) in words.iter().enumerate() {
            let is_last = at.saturating_add(1) == words.len();
            scores.and(self.finds(word, is_last, rows));
            if scores.found.is_empty() {
                break;
            }
        }
        scores
    }

    fn finds(&self, word: &str, as_prefix: bool, rows: usize) -> Finds {
        let mut finds = Finds::new(rows);
        let edits = match word.chars().count() {
            TWO_EDITS_FROM.. => 2,
            ONE_EDIT_FROM.. => 1,
            _ => 0,
        };
        for Layer { segment, live } in &self.layers {
            if let Some(index) = segment.find(word) {
                segment.rows_of(index, &mut finds.of(Kind::Exact, live));
            }
            if as_prefix {
                segment.rows_of_prefix(word, &mut finds.of(Kind::Prefix, live));
            }
            if edits > 0 {
                let similar = segment.similar(word, edits);
                let mut sink = finds.of(Kind::Typo, live);
                similar.into_iter().for_each(|index| segment.rows_of(index, &mut sink));
            }
        }
        finds
    }
}

impl Layer {
    fn without(&self, removed: &Bits) -> Self {
        let mut layer = self.clone();
        if !self.live.common(removed).is_empty() {
            Arc::make_mut(&mut layer.live).drop(removed);
        }
        layer
    }

    fn merged(&self, other: &Self, rows: usize) -> Self {
        let segment = collector::merged((&self.segment, &self.live), (&other.segment, &other.live), rows);
        let mut live = Bits::clone(&self.live);
        live.add(&other.live);
        Self { segment: Arc::new(segment), live: Arc::new(live) }
    }
}

/// Rows without their fields.
struct Plain<'a> {
    found: &'a mut Bits,
    live: &'a Bits,
}

impl Sink for Plain<'_> {
    fn row(&mut self, row: u32, _: document::Field) {
        if self.live.contains(row) {
            self.found.insert(row);
        }
    }

    fn rows(&mut self, rows: &Bits, _: document::Field) {
        self.found.add_common(rows, self.live);
    }
}
