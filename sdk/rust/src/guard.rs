//! The replay guard: the function runs at most once for each call, however often the call comes.

use std::{
    collections::{HashMap, VecDeque},
    error::Error,
    sync::Arc,
    time::SystemTime,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use uuid::Uuid;

/// A fault of the store behind a guard. Nothing runs then.
pub type GuardError = Box<dyn Error + Send + Sync>;

/// One call. Execution ids are public as soon as a call is paid, so a stranger can send one with another task: that is
/// another call, and does not touch this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    pub execution_id: Uuid,
    /// Of everything that names the call: record, opening, task, parameters.
    pub request_hash: [u8; 32],
}

/// What to do with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is new, and noted as running: run it, then [`ReplayGuard::finish`].
    Run,
    /// It runs: ask again in a moment.
    Wait,
    /// It ended with this answer.
    Done(Arc<str>),
    /// It began and did not end before its limit, because its process died. It must not run again.
    Lost,
}

/// Where calls are noted. Several processes need one that they share, such as a table or Redis: `begin` is one atomic
/// insertion where there is no row yet.
#[async_trait]
pub trait ReplayGuard: Send + Sync + 'static {
    /// `until`: when a run that begins now has ended. A row that still runs after its limit is [`Begun::Lost`].
    async fn begin(&self, call: &CallKey, until: SystemTime) -> Result<Begun, GuardError>;

    /// Keeps the answer, for an hour at least. A first answer stays.
    async fn finish(&self, call: &CallKey, answer: Arc<str>) -> Result<(), GuardError>;
}

/// Keeps the newest answers of this process in memory.
#[derive(Debug, Default)]
pub struct MemoryGuard {
    calls: Mutex<Calls>,
}

const MAX_ANSWERS: usize = 10_000;
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
struct Calls {
    known: HashMap<CallKey, Noted>,
    /// Those that have ended, oldest first.
    ended: VecDeque<CallKey>,
    /// Of their answers.
    bytes: usize,
}

#[derive(Debug)]
enum Noted {
    Running(SystemTime),
    Done(Arc<str>),
}

#[async_trait]
impl ReplayGuard for MemoryGuard {
    async fn begin(&self, call: &CallKey, until: SystemTime) -> Result<Begun, GuardError> {
        let mut calls = self.calls.lock();
        Ok(match calls.known.get(call) {
            None => {
                calls.known.insert(*call, Noted::Running(until));
                Begun::Run
            }
            Some(Noted::Running(until)) if SystemTime::now() < *until => Begun::Wait,
            Some(Noted::Running(_)) => Begun::Lost,
            Some(Noted::Done(answer)) => Begun::Done(Arc::clone(answer)),
        })
    }

    async fn finish(&self, call: &CallKey, answer: Arc<str>) -> Result<(), GuardError> {
        let mut calls = self.calls.lock();
        let Calls { known, ended, bytes } = &mut *calls;
        if matches!(known.get(call), Some(Noted::Done(_))) {
            return Ok(());
        }
        *bytes = bytes.saturating_add(answer.len());
        known.insert(*call, Noted::Done(answer));
        ended.push_back(*call);
        while ended.len() > MAX_ANSWERS || *bytes > MAX_ANSWER_BYTES {
            let Some(oldest) = ended.pop_front() else { break };
            if let Some(Noted::Done(answer)) = known.remove(&oldest) {
                *bytes = bytes.saturating_sub(answer.len());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn call(number: u128) -> CallKey {
        CallKey { execution_id: Uuid::from_u128(number), request_hash: [0; 32] }
    }

    fn later() -> SystemTime {
        SystemTime::now().checked_add(Duration::from_secs(60)).expect("a time")
    }

    #[tokio::test]
    async fn a_call_runs_once_is_waited_for_and_keeps_its_first_answer() {
        let guard = MemoryGuard::default();
        let stranger = CallKey { request_hash: [1; 32], ..call(1) };
        assert_eq!(guard.begin(&call(1), later()).await.expect("noted"), Begun::Run);
        assert_eq!(guard.begin(&call(1), later()).await.expect("noted"), Begun::Wait);
        assert_eq!(guard.begin(&stranger, later()).await.expect("noted"), Begun::Run, "the same id of another request");
        for answer in ["first", "second"] {
            guard.finish(&call(1), answer.into()).await.expect("kept");
        }
        assert_eq!(guard.begin(&call(1), later()).await.expect("noted"), Begun::Done("first".into()));
    }

    #[tokio::test]
    async fn a_run_that_did_not_end_before_its_limit_never_runs_again_and_is_not_waited_for() {
        let guard = MemoryGuard::default();
        guard.begin(&call(1), SystemTime::now()).await.expect("noted");
        for _ in 0..2 {
            assert_eq!(guard.begin(&call(1), later()).await.expect("noted"), Begun::Lost);
        }
        guard.finish(&call(1), "lost".into()).await.expect("kept");
        assert_eq!(guard.begin(&call(1), later()).await.expect("noted"), Begun::Done("lost".into()));
    }

    #[tokio::test]
    async fn memory_is_bounded_by_number_and_size_and_the_oldest_answers_go_first() {
        let guard = MemoryGuard::default();
        for number in 0..10_010 {
            guard.begin(&call(number), later()).await.expect("noted");
            guard.finish(&call(number), "x".into()).await.expect("kept");
        }
        assert_eq!(guard.calls.lock().known.len(), MAX_ANSWERS);
        assert_eq!(guard.begin(&call(10_009), later()).await.expect("noted"), Begun::Done("x".into()));
        let large: Arc<str> = "x".repeat(8 * 1024 * 1024).into();
        for number in 20_000..20_010 {
            guard.finish(&call(number), Arc::clone(&large)).await.expect("kept");
        }
        let calls = guard.calls.lock();
        assert!(calls.bytes <= MAX_ANSWER_BYTES && calls.known.len() == 8 && calls.ended.len() == 8);
    }
}
