//! How well rows fit the words of a search. The score of a row is a number; all scores are kept bit by bit, one set of
//! rows for each bit, so that adding and comparing them costs the same whatever was found.

use super::{super::bits::Bits, document::Field, segment::Sink};

/// How a word was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Exact,
    Prefix,
    Typo,
}

const LEVELS: usize = 12;
/// Bits of a level.
const LEVEL_BITS: usize = 4;
/// Bits of the sum of eight levels.
const SCORE_BITS: usize = 7;

/// How good a find is, from 1. A typo is never better than the word itself.
const fn level(kind: Kind, field: Field) -> usize {
    match (kind, field) {
        (Kind::Exact, Field::Name) => 12,
        (Kind::Prefix, Field::Name) => 11,
        (Kind::Exact, Field::Tags) => 10,
        (Kind::Prefix, Field::Tags) => 9,
        (Kind::Exact, Field::Tagline) => 8,
        (Kind::Prefix, Field::Tagline) => 7,
        (Kind::Exact, Field::Description) => 6,
        (Kind::Prefix, Field::Description) => 5,
        (Kind::Typo, Field::Name) => 4,
        (Kind::Typo, Field::Tags) => 3,
        (Kind::Typo, Field::Tagline) => 2,
        (Kind::Typo, Field::Description) => 1,
    }
}

/// The rows in which one word was found, by level.
#[derive(Debug)]
pub struct Finds {
    rows: usize,
    levels: [Option<Bits>; LEVELS],
}

impl Finds {
    pub fn new(rows: usize) -> Self {
        Self { rows, levels: Default::default() }
    }

    /// Takes the finds of one kind among `live` rows.
    pub fn of<'a>(&'a mut self, kind: Kind, live: &'a Bits) -> KindOfFinds<'a> {
        KindOfFinds { finds: self, kind, live }
    }

    fn level(&mut self, level: usize) -> Option<&mut Bits> {
        let rows = self.rows;
        Some(self.levels.get_mut(level.checked_sub(1)?)?.get_or_insert_with(|| Bits::empty(rows)))
    }
}

pub struct KindOfFinds<'a> {
    finds: &'a mut Finds,
    kind: Kind,
    live: &'a Bits,
}

impl Sink for KindOfFinds<'_> {
    fn row(&mut self, row: u32, field: Field) {
        if self.live.contains(row)
            && let Some(rows) = self.finds.level(level(self.kind, field))
        {
            rows.insert(row);
        }
    }

    fn rows(&mut self, rows: &Bits, field: Field) {
        if let Some(found) = self.finds.level(level(self.kind, field)) {
            found.add_common(rows, self.live);
        }
    }
}

/// The rows that fit all words so far, and their scores.
#[derive(Clone, Debug)]
pub struct Scores {
    pub found: Bits,
    /// One set for each bit of the score, the lowest first.
    bits: Vec<Bits>,
}

impl Scores {
    /// Every row of `listed` fits no word yet, and has the score 0.
    pub fn new(listed: Bits, rows: usize) -> Self {
        Self { found: listed, bits: vec![Bits::empty(rows); SCORE_BITS] }
    }

    /// Keeps the rows that fit another word as well, and adds how well.
    pub fn and(&mut self, finds: Finds) {
        let mut seen = Bits::empty(finds.rows);
        let mut added: [Bits; LEVEL_BITS] = std::array::from_fn(|_| Bits::empty(finds.rows));
        // The best find of a row counts.
        for (level, rows) in (1..LEVELS.saturating_add(1)).zip(finds.levels).rev() {
            let Some(mut rows) = rows else { continue };
            rows.drop(&seen);
            seen.add(&rows);
            for (bit, set) in added.iter_mut().enumerate() {
                if level.wrapping_shr(u32::try_from(bit).unwrap_or_default()) & 1 == 1 {
                    set.add(&rows);
                }
            }
        }
        self.found.keep(&seen);
        self.add(&added);
    }

    /// Adds numbers to all scores at once, as one adds by hand.
    fn add(&mut self, added: &[Bits]) {
        let Some(words) = self.bits.first().map(|bits| bits.words().len()) else { return };
        let mut carry = vec![0_u64; words];
        for (bit, sum) in self.bits.iter_mut().enumerate() {
            let added = added.get(bit).map(Bits::words).unwrap_or_default();
            let added = added.iter().copied().chain(std::iter::repeat(0));
            for ((sum, carry), added) in sum.words_mut().iter_mut().zip(&mut carry).zip(added) {
                let next = (*sum & added) | (*carry & (*sum ^ added));
                *sum ^= added ^ *carry;
                *carry = next;
            }
        }
    }

    /// The score of a row.
    pub fn of(&self, row: u32) -> u32 {
        let bits = self.bits.iter().zip(0_u32..).filter(|(bits, _)| bits.contains(row));
        bits.fold(0, |score, (_, bit)| score | 1_u32.wrapping_shl(bit))
    }

    /// Visits groups of rows with equal scores, the best first, until the visitor has enough.
    pub fn visit(&self, visitor: &mut impl Visitor) {
        self.descend(self.bits.len(), 0, self.found.clone(), visitor);
    }

    fn descend(&self, bits: usize, score: u32, rows: Bits, visitor: &mut impl Visitor) {
        let width = u32::try_from(bits).unwrap_or_default();
        let highest = score | 1_u32.wrapping_shl(width).wrapping_sub(1);
        let count = rows.count();
        if count == 0 || visitor.has_enough() || visitor.skips(highest, score, count) {
            return;
        }
        let lower = bits.checked_sub(1).and_then(|bit| Some((bit, self.bits.get(bit)?)));
        let Some((bit, set)) = lower else { return visitor.group(score, &rows, count) };
        let with = rows.common(set);
        let mut without = rows;
        without.drop(set);
        let raised = score | 1_u32.wrapping_shl(u32::try_from(bit).unwrap_or_default());
        self.descend(bit, raised, with, visitor);
        self.descend(bit, score, without, visitor);
    }
}

/// Takes groups of rows with one score.
pub trait Visitor {
    fn has_enough(&self) -> bool;
    /// Whether nothing of `count` rows with scores from `lowest` to `highest` is wanted.
    fn skips(&mut self, highest: u32, lowest: u32, count: usize) -> bool;
    fn group(&mut self, score: u32, rows: &Bits, count: usize);
}
