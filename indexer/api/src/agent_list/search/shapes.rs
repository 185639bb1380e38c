//! Finds words that differ by few edits. Words are compared by length and by which letters they have first, which is
//! one operation for each word, and exactly only if that leaves them possible.

use std::cmp::Ordering;

use super::words::MAX_WORD_CHARS;

/// Similar words that are used, the nearest first.
const MAX_SIMILAR: usize = 256;
/// Bits for the 26 letters, and the others for all other characters.
const LETTERS: u32 = 26;
const OTHERS: u32 = 38;

/// The shapes of words, by length.
#[derive(Debug, Default)]
pub struct Shapes {
    shapes: Vec<Shape>,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    chars: u32,
    index: u32,
    /// One bit for each letter in the word.
    letters: u64,
}

impl Shapes {
    /// Adds a word, unless it has a digit: another number is another thing, and no mistake in typing.
    pub fn push(&mut self, word: &str, index: usize) {
        let (Some(shape), Ok(index)) = (shape(word), u32::try_from(index)) else { return };
        self.shapes.push(Shape { index, ..shape });
    }

    pub fn sort(&mut self) {
        self.shapes.shrink_to_fit();
        self.shapes.sort_by_key(|shape| shape.chars);
    }

    /// Words that are at most `edits` edits from this one, and not the word itself.
    pub fn similar<'a>(&self, word: &str, edits: usize, text: impl Fn(usize) -> &'a str) -> Vec<usize> {
        let Some(wanted) = shape(word) else { return Vec::new() };
        let range = u32::try_from(edits).unwrap_or(0);
        let (shortest, longest) = (wanted.chars.saturating_sub(range), wanted.chars.saturating_add(range));
        let start = self.shapes.partition_point(|shape| shape.chars < shortest);
        let end = self.shapes.partition_point(|shape| shape.chars <= longest);
        // An edit replaces one letter by another at most.
        let most = range.saturating_mul(2);
        let possible = self.shapes.get(start..end).unwrap_or_default().iter();
        let possible = possible.filter(|shape| (shape.letters ^ wanted.letters).count_ones() <= most);
        let chars: Vec<char> = word.chars().collect();
        let mut found: Vec<(usize, usize)> = possible
            .filter_map(|shape| {
                let index = shape.index as usize;
                let other: Vec<char> = text(index).chars().collect();
                let distance = distance(&chars, &other, edits)?;
                (distance > 0).then_some((distance, index))
            })
            .collect();
        found.sort_unstable();
        found.truncate(MAX_SIMILAR);
        found.into_iter().map(|(_, index)| index).collect()
    }
}

fn shape(word: &str) -> Option<Shape> {
    let (mut letters, mut chars) = (0_u64, 0_u32);
    for c in word.chars() {
        if c.is_numeric() {
            return None;
        }
        let bit = if c.is_ascii_lowercase() {
            u32::from(c).wrapping_sub(u32::from('a'))
        } else {
            u32::from(c).checked_rem(OTHERS).unwrap_or_default().saturating_add(LETTERS)
        };
        letters |= 1_u64.wrapping_shl(bit);
        chars = chars.saturating_add(1);
    }
    Some(Shape { chars, index: 0, letters })
}

/// How many edits make one word of the other, if they are at most `most`. An edit inserts, removes or replaces a
/// character, or exchanges two neighbours.
fn distance(one: &[char], other: &[char], most: usize) -> Option<usize> {
    type Line = [usize; MAX_WORD_CHARS + 2];
    let mut before_last: Line = [0; MAX_WORD_CHARS + 2];
    let mut last: Line = std::array::from_fn(|column| column);
    for (row, c) in one.iter().enumerate() {
        let mut line: Line = [usize::MAX; MAX_WORD_CHARS + 2];
        let mut left = row.saturating_add(1);
        let mut least = left;
        if let Some(first) = line.first_mut() {
            *first = left;
        }
        for (column, d) in other.iter().enumerate() {
            let at = |line: &Line, column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let above = column.saturating_add(1);
            let mut cost = at(&last, column).saturating_add(usize::from(c != d));
            cost = cost.min(left.saturating_add(1)).min(at(&last, above).saturating_add(1));
            let exchanged = row.checked_sub(1).and_then(|row| one.get(row)) == Some(d)
                && column.checked_sub(1).and_then(|column| other.get(column)) == Some(c);
            if exchanged {
                cost = cost.min(at(&before_last, column.saturating_sub(1)).saturating_add(1));
            }
            if let Some(place) = line.get_mut(above) {
                *place = cost;
            }
            left = cost;
            least = least.min(cost);
        }
        if least > most {
            return None;
        }
        before_last = last;
        last = line;
    }
    let distance = last.get(other.len()).copied().unwrap_or(usize::MAX);
    (distance.cmp(&most) != Ordering::Greater).then_some(distance)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edits(one: &str, other: &str, most: usize) -> Option<usize> {
        distance(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>(), most)
    }

    #[test]
    fn edits_are_counted() {
        for (one, other, wanted) in [
            ("data", "data", Some(0)),
            ("data", "dta", Some(1)),
            ("data", "dada", Some(1)),
            ("data", "dataa", Some(1)),
            ("data", "adta", Some(1)),
            ("translator", "trnaslater", Some(2)),
            ("data", "code", None),
            ("", "ab", Some(2)),
            ("", "abc", None),
        ] {
            assert_eq!(edits(one, other, 2), wanted, "{one} {other}");
            assert_eq!(edits(other, one, 2), wanted, "{other} {one}");
        }
        assert_eq!(edits("data", "adta", 0), None);
    }

    proptest! {
        #[test]
        fn no_similar_word_is_overlooked(words in proptest::collection::btree_set("[a-e]{1,6}", 1..40), word in "[a-e]{4,6}") {
            let words: Vec<String> = words.into_iter().collect();
            let mut shapes = Shapes::default();
            words.iter().enumerate().for_each(|(index, word)| shapes.push(word, index));
            shapes.sort();
            for most in 1..=2 {
                let mut found = shapes.similar(&word, most, |index| words[index].as_str());
                found.sort_unstable();
                let wanted: Vec<usize> = (0..words.len())
                    .filter(|index| edits(&word, &words[*index], most).is_some_and(|distance| distance > 0))
                    .collect();
                prop_assert_eq!(found, wanted);
            }
        }
    }
}
