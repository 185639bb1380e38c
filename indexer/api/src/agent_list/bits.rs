//! Sets of rows: one bit for each row.

const BITS: u32 = 64;

/// A set of row numbers. Rows beyond its size are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
}

/// Where the bit of a row is.
fn place(row: u32) -> (usize, u64) {
    let word = row.checked_div(BITS).and_then(|word| usize::try_from(word).ok()).unwrap_or(usize::MAX);
    (word, 1_u64.wrapping_shl(row))
}

impl Bits {
    /// An empty set with room for rows below `rows`.
    pub fn empty(rows: usize) -> Self {
        Self { words: vec![0; rows.div_ceil(BITS as usize)] }
    }

    /// Makes room for rows below `rows`.
    pub fn grow(&mut self, rows: usize) {
        let words = rows.div_ceil(BITS as usize);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    /// Adds a row that the set has room for.
    pub fn insert(&mut self, row: u32) {
        let (word, bit) = place(row);
        if let Some(word) = self.words.get_mut(word) {
            *word |= bit;
        }
    }

    pub fn remove(&mut self, row: u32) {
        let (word, bit) = place(row);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }

    pub fn contains(&self, row: u32) -> bool {
        let (word, bit) = place(row);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    pub fn count(&self) -> usize {
        self.words.iter().fold(0_usize, |sum, word| sum.saturating_add(word.count_ones() as usize))
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Keeps the rows that are in both.
    pub fn keep(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    /// Removes the rows of another set.
    pub fn drop(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    /// Adds the rows of another set.
    pub fn add(&mut self, other: &Self) {
        self.room_of(other);
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Adds the rows that are in both of two other sets.
    pub fn add_common(&mut self, one: &Self, other: &Self) {
        self.room_of(one);
        let common = one.words.iter().zip(&other.words);
        self.words.iter_mut().zip(common).for_each(|(word, (one, other))| *word |= one & other);
    }

    /// The rows of `self` that are also in `other`.
    pub fn common(&self, other: &Self) -> Self {
        Self { words: self.words.iter().zip(&other.words).map(|(one, other)| one & other).collect() }
    }

    /// The rows in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).step_by(BITS as usize).zip(&self.words).flat_map(|(first, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let lowest = (left != 0).then(|| left.trailing_zeros())?;
                left &= left.wrapping_sub(1);
                Some(first | lowest)
            })
        })
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn room_of(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn bits(rows: &BTreeSet<u32>) -> Bits {
        let mut bits = Bits::empty(200);
        rows.iter().for_each(|row| bits.insert(*row));
        bits
    }

    proptest! {
        #[test]
        fn sets_of_bits_are_sets(
            one in proptest::collection::btree_set(0_u32..200, 0..60),
            other in proptest::collection::btree_set(0_u32..200, 0..60),
        ) {
            let (a, b) = (bits(&one), bits(&other));
            prop_assert_eq!(a.iter().collect::<BTreeSet<_>>(), one.clone());
            prop_assert_eq!(a.count(), one.len());
            prop_assert_eq!(a.is_empty(), one.is_empty());
            prop_assert!((0..300).all(|row| a.contains(row) == one.contains(&row)));
            let common: BTreeSet<u32> = one.intersection(&other).copied().collect();
            prop_assert_eq!(a.common(&b), bits(&common));
            let mut kept = a.clone();
            kept.keep(&b);
            prop_assert_eq!(kept, bits(&common));
            let mut dropped = a.clone();
            dropped.drop(&b);
            prop_assert_eq!(dropped, bits(&one.difference(&other).copied().collect()));
            let mut added = a.clone();
            added.add(&b);
            prop_assert_eq!(added, bits(&one.union(&other).copied().collect()));
            let mut added = Bits::default();
            added.add_common(&a, &b);
            prop_assert_eq!(added, bits(&common));
        }
    }
}
