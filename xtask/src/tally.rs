//! What a suite ran: how many tests passed, and which failed.

use std::{iter::Sum, time::Duration};

/// How a suite went, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    /// The tests that failed, by name, and why where that is known.
    pub failed: Vec<String>,
    /// The same of those, among the passed ones, that passed only at a second attempt.
    pub second: Vec<String>,
    /// How long each test took, where that is known.
    pub times: Vec<(Duration, String)>,
    pub took: Duration,
}

impl Tally {
    pub fn passed(passed: u64) -> Self {
        Self { passed, ..Self::default() }
    }

    pub fn failed(name: impl Into<String>) -> Self {
        Self { failed: vec![name.into()], ..Self::default() }
    }

    /// Both together.
    pub fn and(mut self, more: Self) -> Self {
        self.passed = self.passed.saturating_add(more.passed);
        self.failed.extend(more.failed);
        self.second.extend(more.second);
        self.times.extend(more.times);
        self.took = self.took.saturating_add(more.took);
        self
    }

    /// What remains after the tests that failed ran once more. If not all of them ran, they stay failed.
    pub fn after(mut self, again: Self) -> Self {
        let ran = again.failed.len().saturating_add(usize::try_from(again.passed).unwrap_or(usize::MAX));
        if ran < self.failed.len() {
            return self;
        }
        let passed = |test: &String| !again.failed.contains(test);
        self.second.extend(self.failed.iter().filter(|test| passed(test)).cloned());
        self.passed = self.passed.saturating_add(again.passed);
        self.failed = again.failed;
        self
    }

    pub fn is_success(&self) -> bool {
        self.failed.is_empty()
    }

    pub fn ran_nothing(&self) -> bool {
        self.passed == 0 && self.failed.is_empty()
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Self::and)
    }
}

/// The number in front of a word: `number_before("ok. 12 passed; 0 failed", " passed")` is 12.
pub fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_line_of_a_test_program_is_read() {
        let line = "ok. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!((number_before(line, " passed"), number_before(line, " failed")), (12, 3));
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_test_that_fails_twice_stays_failed_and_the_others_are_named() {
        let first = Tally { failed: names(&["a", "b"]), ..Tally::passed(3) };
        let again = Tally { failed: names(&["b"]), ..Tally::passed(1) };
        let whole = first.after(again);
        assert_eq!((whole.passed, whole.failed, whole.second), (4, names(&["b"]), names(&["a"])));
    }

    #[test]
    fn a_test_that_did_not_run_again_stays_failed() {
        let first = Tally { failed: names(&["a", "b"]), ..Tally::passed(3) };
        assert_eq!(first.clone().after(Tally::passed(1)), first);
    }

    #[test]
    fn parts_add_up() {
        let whole: Tally = [Tally::passed(2), Tally::failed("x"), Tally::failed("y")].into_iter().sum();
        assert_eq!((whole.passed, whole.failed.clone(), whole.is_success()), (2, names(&["x", "y"]), false));
        assert!(Tally::default().ran_nothing() && !whole.ran_nothing());
    }
}
