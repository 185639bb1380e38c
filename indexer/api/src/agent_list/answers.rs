//! Answers that were given from one table, so that nobody computes the same page of the same table twice.
//!
//! They are found by the query as it was sent, and they end with the table: an answer of it never changes. The bytes are
//! bounded. Answers that nobody asks for make room for newer ones.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use crtx_http::Whole;

/// Bytes of the newer answers, and as many of the older ones.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// An answer that is larger, with its query, is not kept.
const MAX_ANSWER: usize = 256 * 1024;
/// What an answer costs beyond its bytes.
const OVERHEAD: usize = 512;

#[derive(Default)]
pub struct Answers {
    kept: Mutex<Kept>,
}

type ByQuery = HashMap<Box<str>, Arc<Whole>>;

#[derive(Default)]
struct Kept {
    newer: ByQuery,
    /// Bytes of the newer ones.
    bytes: usize,
    /// They end when the newer ones become the older ones, unless somebody asks for them before.
    older: ByQuery,
}

impl Answers {
    pub fn get(&self, query: &str) -> Option<Arc<Whole>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = kept.newer.get(query) {
            return Some(Arc::clone(answer));
        }
        let (query, answer) = kept.older.remove_entry(query)?;
        kept.put(query, &answer);
        Some(answer)
    }

    pub fn keep(&self, query: &str, answer: &Arc<Whole>) {
        if size(query, answer) <= MAX_ANSWER {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(query.into(), answer);
        }
    }
}

impl Kept {
    fn put(&mut self, query: Box<str>, answer: &Arc<Whole>) {
        let size = size(&query, answer);
        if self.bytes.saturating_add(size) > MAX_BYTES {
            self.older = mem::take(&mut self.newer);
            self.bytes = 0;
        }
        if self.newer.insert(query, Arc::clone(answer)).is_none() {
            self.bytes = self.bytes.saturating_add(size);
        }
    }
}

/// With room for the compressed form.
fn size(query: &str, answer: &Whole) -> usize {
    let bytes = answer.len();
    let compressed = bytes.div_ceil(2);
    bytes.saturating_add(compressed).saturating_add(query.len()).saturating_add(OVERHEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> Arc<Whole> {
        Arc::new(Whole::json(vec![b'x'; bytes].into()))
    }

    #[test]
    fn an_answer_is_found_by_its_query_alone() {
        let answers = Answers::default();
        let one = answer(10);
        answers.keep("sort=trust", &one);
        assert!(answers.get("sort=trust").is_some_and(|found| Arc::ptr_eq(&found, &one)));
        assert!(answers.get("sort=trust&limit=20").is_none() && answers.get("").is_none());
    }

    #[test]
    fn answers_have_bounded_bytes_and_the_ones_that_are_asked_for_stay() {
        let answers = Answers::default();
        let large = answer(40 * 1024);
        for number in 0..2_000 {
            answers.keep(&format!("offset={number}"), &large);
            assert!(answers.get("offset=0").is_some(), "{number}");
        }
        let kept = answers.kept.lock().unwrap();
        let count = kept.newer.len() + kept.older.len();
        let one = size("offset=1999", &large);
        assert!(kept.newer.contains_key("offset=1999") && count * one <= 2 * MAX_BYTES, "{count}");
        assert_eq!(kept.bytes, kept.newer.iter().map(|(query, answer)| size(query, answer)).sum::<usize>());
    }

    #[test]
    fn a_very_large_answer_is_not_kept() {
        let answers = Answers::default();
        answers.keep("q=a", &answer(MAX_ANSWER));
        answers.keep(&"a".repeat(MAX_ANSWER), &answer(10));
        let kept = answers.kept.lock().unwrap();
        assert_eq!((kept.newer.len(), kept.bytes), (0, 0));
    }
}
