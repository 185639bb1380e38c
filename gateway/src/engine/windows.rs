//! Windows of time in which work of one kind gathers, so that it can be done together. Work that nobody else is expected to
//! join waits for nothing; what comes within a window behind it waits for the end of that window.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Kinds that are remembered without a look at which of their windows are over.
const MANY: usize = 1_000;

pub(super) struct Windows<K, T> {
    length: Duration,
    open: Mutex<HashMap<K, Window<T>>>,
}

struct Window<T> {
    ends: Instant,
    waiting: Vec<T>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// It is done at once, alone.
    First,
    /// It waits, and another one collects it.
    Waits,
    /// It is the first one that waits, and has to [`Windows::collect`] at this time.
    Collects(Instant),
}

impl<K: Eq + Hash, T> Windows<K, T> {
    pub fn new(length: Duration) -> Self {
        Self { length, open: Mutex::default() }
    }

    /// `others`: more work of this kind is expected, so that the first one waits as well. `waiting` is what is collected.
    pub fn enter(&self, now: Instant, kind: K, others: bool, waiting: impl FnOnce() -> T) -> Entered {
        let mut open = self.open();
        if open.len() >= MANY {
            open.retain(|_, window| window.ends > now || !window.waiting.is_empty());
        }
        match open.get_mut(&kind) {
            Some(window) if window.ends > now || !window.waiting.is_empty() => {
                window.waiting.push(waiting());
                if window.waiting.len() == 1 { Entered::Collects(window.ends) } else { Entered::Waits }
            }
            _ => {
                let ends = self.end(now);
                let waiting = if others { vec![waiting()] } else { Vec::new() };
                open.insert(kind, Window { ends, waiting });
                if others { Entered::Collects(ends) } else { Entered::First }
            }
        }
    }

    /// Everything of this kind that waits. What comes next gathers in a window behind it.
    pub fn collect(&self, now: Instant, kind: K) -> Vec<T> {
        let next = Window { ends: self.end(now), waiting: Vec::new() };
        self.open().insert(kind, next).map_or_else(Vec::new, |window| window.waiting)
    }

    fn end(&self, now: Instant) -> Instant {
        now.checked_add(self.length).unwrap_or(now)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<K, Window<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_millis(5);

    #[test]
    fn who_comes_alone_waits_for_nobody_and_who_follows_waits_until_the_window_ends() {
        let windows = Windows::new(LENGTH);
        let started = Instant::now();
        let after = |ms| started.checked_add(Duration::from_millis(ms)).expect("in range");
        assert_eq!(windows.enter(after(0), "kind", false, || 1), Entered::First);
        assert_eq!(windows.enter(after(0), "other", false, || 1), Entered::First);
        assert_eq!(windows.enter(after(3), "kind", false, || 2), Entered::Collects(after(5)));
        assert_eq!(windows.enter(after(4), "kind", true, || 3), Entered::Waits);
        assert_eq!(windows.enter(after(6), "kind", false, || 4), Entered::Waits, "the others are not collected yet");
        assert_eq!(windows.collect(after(6), "kind"), [2, 3, 4]);
        assert_eq!(windows.enter(after(10), "kind", false, || 5), Entered::Collects(after(11)), "it follows those");
        assert_eq!(windows.collect(after(11), "kind"), [5]);
        assert_eq!(windows.enter(after(17), "kind", false, || 6), Entered::First);
        assert_eq!(windows.enter(after(30), "kind", true, || 7), Entered::Collects(after(35)), "others are expected");
        assert_eq!(windows.collect(after(35), "kind"), [7]);
    }

    #[test]
    fn kinds_whose_windows_are_over_are_forgotten() {
        let windows = Windows::new(LENGTH);
        let mut now = Instant::now();
        for kind in 0..10 * MANY {
            assert_eq!(windows.enter(now, kind, false, || ()), Entered::First);
            now = now.checked_add(Duration::from_millis(1)).expect("in range");
        }
        assert!(windows.open().len() <= MANY);
    }
}
