//! Collects documents for a new segment, and makes one segment of two.

use std::collections::HashMap;

use super::{
    super::bits::Bits,
    document::Document,
    segment::{Assembler, MAX_ROWS, Posting, Segment, posting, row_of},
};

/// Documents that are not searched yet.
#[derive(Debug, Default)]
pub struct Collector {
    entries: HashMap<Box<str>, Vec<Posting>>,
    rows: Bits,
    documents: usize,
}

impl Collector {
    pub const fn is_empty(&self) -> bool {
        self.documents == 0
    }

    pub fn has(&self, row: u32) -> bool {
        self.rows.contains(row)
    }

    pub fn add(&mut self, row: u32, document: &Document<'_>) {
        if row > MAX_ROWS {
            return;
        }
        self.documents = self.documents.saturating_add(1);
        self.rows.grow((row as usize).saturating_add(1));
        self.rows.insert(row);
        for (entry, mask) in document.entries() {
            let posting = posting(row, mask);
            match self.entries.get_mut(entry.as_str()) {
                Some(postings) => postings.push(posting),
                None => drop(self.entries.insert(entry.into(), vec![posting])),
            }
        }
    }

    /// The segment of these documents, and their rows. `rows` is the room of the table.
    pub fn finish(self, rows: usize) -> (Segment, Bits) {
        let mut entries: Vec<_> = self.entries.into_iter().collect();
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let mut assembler = Assembler::new(self.documents, rows);
        for (entry, postings) in entries {
            assembler.push(&entry, &postings);
        }
        (assembler.finish(), self.rows)
    }
}

/// One segment of two, without the rows that are not in theirs any more.
pub fn merged(one: (&Segment, &Bits), other: (&Segment, &Bits), rows: usize) -> Segment {
    let documents = one.1.count().saturating_add(other.1.count());
    let mut assembler = Assembler::new(documents, rows);
    let (mut at, mut other_at) = (0_usize, 0_usize);
    while at < one.0.entries() || other_at < other.0.entries() {
        let (mine, theirs) = (one.0.entry(at), other.0.entry(other_at));
        let take_one = at < one.0.entries() && (other_at >= other.0.entries() || mine <= theirs);
        let take_other = other_at < other.0.entries() && (at >= one.0.entries() || theirs <= mine);
        let mut postings = Vec::new();
        if take_one {
            postings.extend(live(one, at));
            at = at.saturating_add(1);
        }
        if take_other {
            postings.extend(live(other, other_at));
            other_at = other_at.saturating_add(1);
        }
        if !postings.is_empty() {
            assembler.push(if take_one { mine } else { theirs }, &postings);
        }
    }
    assembler.finish()
}

fn live((segment, rows): (&Segment, &Bits), index: usize) -> impl Iterator<Item = Posting> {
    segment.postings(index).into_iter().filter(|it| rows.contains(row_of(*it)))
}
