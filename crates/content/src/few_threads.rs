//! Short blocking work on few threads.
//!
//! To wake a thread costs more than most reads of a small file, above all of a file that is not there. A thread that has
//! finished one piece of work takes the next that waits, so that many pieces at the same time share the cost.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Threads that work at the same time.
const MOST_RUNNING: usize = 16;
/// Another thread is taken when more wait for each of those that work.
const WAITING_PER_THREAD: usize = 4;
/// Work that waits. More is refused.
const MOST_WAITING: usize = 4_096;

/// A piece of work that waits.
trait Work: Send {
    /// Whether somebody still waits for it.
    fn is_wanted(&self) -> bool;

    /// Does it, if it is wanted.
    fn run(self: Box<Self>);
}

/// Work, and who waits for what it returns.
struct Asked<T, F> {
    work: F,
    answer: oneshot::Sender<T>,
}

impl<T: Send, F: FnOnce() -> T + Send> Work for Asked<T, F> {
    fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }

    fn run(self: Box<Self>) {
        if self.is_wanted() {
            let _ = self.answer.send((self.work)());
        }
    }
}

#[derive(Default)]
pub(crate) struct FewThreads {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Box<dyn Work>>,
    running: usize,
}

impl std::fmt::Debug for FewThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FewThreads").finish_non_exhaustive()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FewThreads {
    /// What `work` returns. It is not begun if the caller does not wait any more.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let (answer, done) = oneshot::channel();
        self.add(Box::new(Asked { work, answer }))?;
        done.await.map_err(|_| io::Error::other("a read ended without an answer"))
    }

    fn add(&self, work: Box<dyn Work>) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.waiting.len() >= MOST_WAITING {
            state.waiting.retain(|work| work.is_wanted());
            if state.waiting.len() >= MOST_WAITING {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "too many reads wait"));
            }
        }
        state.waiting.push_back(work);
        let is_enough = state.running > 0 && state.waiting.len() <= state.running.saturating_mul(WAITING_PER_THREAD);
        if !is_enough && state.running < MOST_RUNNING {
            state.running = state.running.saturating_add(1);
            drop(state);
            start(Arc::clone(&self.state));
        }
        Ok(())
    }
}

fn start(state: Arc<Mutex<State>>) {
    let place = Place { state, begun: false };
    tokio::task::spawn_blocking(move || place.work());
}

/// One of the threads that may work.
struct Place {
    state: Arc<Mutex<State>>,
    /// A runtime that ends drops it without a thread.
    begun: bool,
}

impl Place {
    fn work(mut self) {
        self.begun = true;
        loop {
            let next = lock(&self.state).waiting.pop_front();
            let Some(work) = next else { break };
            work.run();
        }
    }
}

impl Drop for Place {
    /// Work that came after the last look, or that is left after a panic, is for another thread.
    fn drop(&mut self) {
        let (is_work_left, forgotten) = {
            let mut state = lock(&self.state);
            let is_left = self.begun && !state.waiting.is_empty();
            state.running = state.running.saturating_sub(usize::from(!is_left));
            let forgotten = if self.begun { VecDeque::new() } else { std::mem::take(&mut state.waiting) };
            (is_left, forgotten)
        };
        drop(forgotten);
        if is_work_left {
            start(Arc::clone(&self.state));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_work_is_done_once_and_few_threads_do_it() {
        let (threads, done) = (Arc::new(FewThreads::default()), Arc::new(AtomicUsize::new(0)));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut all = tokio::task::JoinSet::new();
        for number in 0..500 {
            let (threads, done) = (Arc::clone(&threads), Arc::clone(&done));
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            all.spawn(async move {
                let answer = threads.run(move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_micros(200));
                    running.fetch_sub(1, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                    number
                });
                assert_eq!(answer.await.expect("an answer"), number);
            });
        }
        while let Some(ended) = all.join_next().await {
            ended.expect("no panic");
        }
        assert_eq!(done.load(Ordering::SeqCst), 500);
        assert!(most.load(Ordering::SeqCst) <= MOST_RUNNING);
        assert_eq!(threads.run(|| 7).await.expect("an answer"), 7);
    }

    #[tokio::test]
    async fn work_that_panics_takes_nothing_with_it() {
        let threads = FewThreads::default();
        for _ in 0..40 {
            let (bad, good) = tokio::join!(threads.run(|| panic!("on purpose")), threads.run(|| 1));
            let bad: io::Result<()> = bad;
            assert!(bad.is_err());
            assert_eq!(good.expect("an answer"), 1);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(lock(&threads.state).running, 0);
    }

    #[test]
    fn the_end_of_a_runtime_ends_what_waits() {
        let threads = Arc::new(FewThreads::default());
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        assert!(handle.block_on(threads.run(|| 1)).is_err());
        let state = lock(&threads.state);
        assert_eq!((state.running, state.waiting.len()), (0, 0));
    }

    #[tokio::test]
    async fn work_whose_caller_has_gone_is_not_begun_and_makes_room() {
        let threads = Arc::new(FewThreads::default());
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let mut slow = tokio::task::JoinSet::new();
        // Every thread is at work that does not end, and no more work may wait.
        for _ in 0..MOST_WAITING + 100 {
            let (threads, held, begun) = (Arc::clone(&threads), Arc::clone(&held), Arc::clone(&begun));
            slow.spawn(async move {
                let work = move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    let _ = held.lock().expect("not poisoned").recv();
                };
                let _ = tokio::time::timeout(Duration::from_millis(200), threads.run(work)).await;
            });
        }
        while slow.join_next().await.is_some() {}
        let after = Arc::clone(&ended);
        let wanted = tokio::spawn(async move { threads.run(move || after.fetch_add(1, Ordering::SeqCst)).await });
        tokio::task::yield_now().await;
        drop(hold);
        wanted.await.expect("no panic").expect("room for it");
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        assert!(begun.load(Ordering::SeqCst) <= MOST_RUNNING, "{}", begun.load(Ordering::SeqCst));
    }
}
