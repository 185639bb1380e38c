//! Windows of time in which work of one kind gathers, so that it can be done together. Work that nobody else is
//! expected to join waits for nothing; what comes within a window behind it waits for the end of that window, or until
//! nobody else fits.

use std::{collections::HashMap, hash::Hash, mem, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::oneshot::{self, error::RecvError},
    time::{Instant, timeout_at},
};

/// Kinds that are remembered without a look at which of their windows are over.
const MANY: usize = 1_000;
/// With so many calls under way, others are expected to come soon: then the first one waits for them as well.
const SEVERAL_CALLS: usize = 4;
/// With each call more than this, the windows get longer by their length, and end when all calls wait,
const CALLS_WITHOUT_HASTE: u32 = 11;
/// up to so many times their length.
const LONGEST: u32 = 5;

pub(super) struct Windows<K, T> {
    length: Duration,
    /// What can be done together at most.
    most: usize,
    open: Mutex<HashMap<K, Window<T>>>,
}

struct Window<T> {
    ends: Instant,
    waiting: Vec<T>,
}

#[derive(Debug, PartialEq, Eq)]
enum Entered<T> {
    /// It is done at once, alone.
    First,
    /// It waits, and another one collects it.
    Waits,
    /// It is the first one that waits, and has to collect all at this time.
    Collects(Instant),
    /// It is the last one that fits or that is expected, and has to do all of these at once.
    Full(Vec<T>),
}

impl<K: Copy + Eq + Hash, T> Windows<K, T> {
    pub fn new(length: Duration, most: usize) -> Self {
        Self { length, most, open: Mutex::default() }
    }

    /// Waits with others, and returns what who did the work of all answered to this one. `None`: it is done alone.
    ///
    /// `calls`: those under way, of which each may bring work of this kind. `waiting` is what gathers, with what takes
    /// the answer. `work` does all that gathered, if it is the turn of this one.
    pub async fn join<A>(
        &self,
        kind: K,
        calls: impl Fn() -> u32,
        waiting: impl FnOnce(oneshot::Sender<A>) -> T,
        work: impl AsyncFnOnce(Vec<T>),
    ) -> Option<Result<A, RecvError>> {
        let (sender, mut answer) = oneshot::channel();
        match self.enter(Instant::now(), kind, calls(), || waiting(sender)) {
            Entered::First => return None,
            Entered::Waits => {}
            Entered::Collects(ends) => match timeout_at(ends, &mut answer).await {
                Ok(answer) => return Some(answer),
                Err(_elapsed) => work(self.collect(Instant::now(), kind, ends, calls())).await,
            },
            Entered::Full(all) => work(all).await,
        }
        Some(answer.await)
    }

    /// Whether what comes now is done alone. A window begins behind it, in which others gather.
    pub fn goes_first(&self, kind: K, calls: u32) -> bool {
        self.first(&mut self.open.lock(), Instant::now(), kind, calls)
    }

    fn first(&self, open: &mut HashMap<K, Window<T>>, now: Instant, kind: K, calls: u32) -> bool {
        if open.len() >= MANY {
            open.retain(|_, window| window.ends > now || !window.waiting.is_empty());
        }
        let window = open.entry(kind).or_insert(Window { ends: now, waiting: Vec::new() });
        let begins = window.ends <= now && window.waiting.is_empty();
        if begins {
            window.ends = self.end(now, calls);
        }
        begins && usize::try_from(calls).unwrap_or(usize::MAX) < SEVERAL_CALLS
    }

    fn enter(&self, now: Instant, kind: K, calls: u32, waiting: impl FnOnce() -> T) -> Entered<T> {
        let mut open = self.open.lock();
        if self.first(&mut open, now, kind, calls) {
            return Entered::First;
        }
        let window = open.entry(kind).or_insert(Window { ends: now, waiting: Vec::new() });
        window.waiting.push(waiting());
        let expected = usize::try_from(calls).unwrap_or(usize::MAX);
        // While few calls are under way, more of them are admitted before a short window ends.
        let full = if calls > CALLS_WITHOUT_HASTE { expected.min(self.most) } else { self.most };
        match window.waiting.len() {
            count if count >= full => {
                window.ends = self.end(now, calls);
                Entered::Full(mem::take(&mut window.waiting))
            }
            1 => Entered::Collects(window.ends),
            _ => Entered::Waits,
        }
    }

    /// Everything of this kind that waits for this end. What comes next gathers in a window behind it.
    fn collect(&self, now: Instant, kind: K, ends: Instant, calls: u32) -> Vec<T> {
        let mut open = self.open.lock();
        // The window has another end if somebody has filled and emptied it.
        let Some(window) = open.get_mut(&kind).filter(|window| window.ends == ends) else { return Vec::new() };
        window.ends = self.end(now, calls);
        mem::take(&mut window.waiting)
    }

    fn end(&self, now: Instant, calls: u32) -> Instant {
        let times = calls.saturating_sub(CALLS_WITHOUT_HASTE).clamp(1, LONGEST);
        now.checked_add(self.length.saturating_mul(times)).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_millis(5);

    fn after(started: Instant, ms: u64) -> Instant {
        started.checked_add(Duration::from_millis(ms)).expect("in range")
    }

    #[test]
    fn who_comes_alone_waits_for_nobody_and_who_follows_waits_until_the_window_ends() {
        let windows = Windows::new(LENGTH, 10);
        let started = Instant::now();
        let after = |ms| after(started, ms);
        let collect = |at, ends| windows.collect(after(at), "kind", after(ends), 1);
        assert_eq!(windows.enter(after(0), "kind", 1, || 1), Entered::First);
        assert_eq!(windows.enter(after(0), "other", 1, || 1), Entered::First);
        assert_eq!(windows.enter(after(3), "kind", 2, || 2), Entered::Collects(after(5)));
        assert_eq!(windows.enter(after(4), "kind", 3, || 3), Entered::Waits);
        assert_eq!(windows.enter(after(6), "kind", 3, || 4), Entered::Waits, "the others are not collected yet");
        assert_eq!(collect(6, 5), [2, 3, 4]);
        assert_eq!(windows.enter(after(10), "kind", 1, || 5), Entered::Collects(after(11)), "it follows those");
        assert_eq!(collect(11, 11), [5]);
        assert_eq!(windows.enter(after(17), "kind", 3, || 6), Entered::First);
        assert_eq!(windows.enter(after(30), "kind", 4, || 7), Entered::Collects(after(35)), "others are expected");
        assert_eq!(collect(35, 35), [7]);
    }

    #[test]
    fn who_goes_first_is_told_before_it_is_ready_and_who_follows_it_gathers() {
        let windows = Windows::new(LENGTH, 10);
        let started = Instant::now();
        let first = |at, kind, calls| windows.first(&mut windows.open.lock(), after(started, at), kind, calls);
        assert!(!first(0, "busy", 4), "others are expected");
        assert!(first(0, "kind", 1));
        assert!(!first(4, "kind", 1), "the window behind the first has begun");
        assert_eq!(windows.enter(after(started, 4), "kind", 2, || ()), Entered::Collects(after(started, 5)));
        assert!(!first(6, "kind", 2), "it is not collected yet");
        assert!(first(0, "other", 3));
        assert!(first(5, "other", 3), "nobody followed");
    }

    #[test]
    fn the_more_calls_are_under_way_the_longer_is_a_window_up_to_five_times() {
        let started = Instant::now();
        for (calls, ms) in [(4, 5), (8, 5), (12, 5), (14, 15), (16, 25), (1_000, 25)] {
            let windows = Windows::new(LENGTH, 10);
            assert_eq!(windows.enter(started, "kind", calls, || 1), Entered::Collects(after(started, ms)), "{calls}");
        }
    }

    #[test]
    fn who_fills_the_window_takes_all_at_once_and_leaves_nothing_for_who_would_have_collected_them() {
        let windows = Windows::new(LENGTH, 3);
        let started = Instant::now();
        let after = |ms| after(started, ms);
        let enter = |at, calls, number| windows.enter(after(at), "kind", calls, || number);
        assert_eq!(enter(0, 20, 1), Entered::Collects(after(25)));
        assert_eq!(enter(1, 20, 2), Entered::Waits);
        assert_eq!(enter(2, 20, 3), Entered::Full(vec![1, 2, 3]));
        assert_eq!(enter(4, 20, 4), Entered::Collects(after(27)), "the next window began when that one was full");
        assert!(windows.collect(after(25), "kind", after(25), 20).is_empty(), "they are others");
        assert_eq!(windows.collect(after(27), "kind", after(27), 20), [4]);
    }

    #[tokio::test]
    async fn who_fills_the_window_answers_all_long_before_it_ends() {
        let windows = Windows::new(Duration::from_secs(3_600), 3);
        let work = async |all: Vec<(u32, oneshot::Sender<u32>)>| {
            all.into_iter().for_each(|(number, answer)| answer.send(10 * number).expect("waits"));
        };
        let join = |number: u32| windows.join("kind", || 20, move |answer| (number, answer), work);
        assert_eq!(tokio::join!(join(1), join(2), join(3)), (Some(Ok(10)), Some(Ok(20)), Some(Ok(30))));
        assert_eq!(windows.join("other", || 1, |answer| (4, answer), work).await, None, "it is alone");
    }

    #[test]
    fn nobody_is_waited_for_if_all_of_many_calls_under_way_wait() {
        let windows = Windows::new(LENGTH, 20);
        let now = Instant::now();
        let last = |calls| (0..calls).map(|number| windows.enter(now, calls, calls, || number)).last();
        assert_eq!(last(12), Some(Entered::Full((0..12).collect())));
        assert_eq!(last(11), Some(Entered::Waits), "others may come, and the window is short");
    }

    #[test]
    fn kinds_whose_windows_are_over_are_forgotten() {
        let windows = Windows::new(LENGTH, 10);
        let mut now = Instant::now();
        for kind in 0..10 * MANY {
            assert_eq!(windows.enter(now, kind, 1, || ()), Entered::First);
            now = now.checked_add(Duration::from_millis(1)).expect("in range");
        }
        assert!(windows.open.lock().len() <= MANY);
    }
}
