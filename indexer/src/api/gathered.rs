//! Reads that many requests make at the same time, gathered: one statement answers all questions that wait when a
//! connection becomes free. Alone, a question is asked at once. Under load, requests share the cost of a round trip, of
//! the start of a plan, and of a snapshot.
//!
//! A statement begins after the requests of its questions have come. So each answer is as new as if it were read alone,
//! and a credential that was revoked before a request came is refused.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use crtx_http::{ApiError, ErrorCode};
use crtx_store::{PgConnection, PgPool, StoreError, pools::ReadConnection};
use tokio::{sync::oneshot, time::timeout};

/// Statements of one kind that run at the same time. Few: then more questions share one.
const MOST_RUNNING: usize = 2;
/// How long a statement may take, with the wait for its connection. The limits of the pool are shorter; this one is for a
/// server that does not answer at all.
const LONGEST: Duration = Duration::from_secs(6);
/// Questions that wait. More are refused.
const MOST_WAITING: usize = 2_048;

/// A question to the database that is cheap for any value that a client can send.
#[async_trait]
pub trait Question: Sized + Send + Sync + 'static {
    type Answer: Send + 'static;

    /// Questions in one statement. All of them wait until the last one is answered.
    const MOST_TOGETHER: usize = 32;

    /// Questions with the same text are asked together.
    fn text(&self) -> usize;

    /// Whether it costs more than others and is asked alone, so that others do not wait for it.
    fn is_large(&self) -> bool {
        false
    }

    /// The answers, in the order of the questions.
    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError>;
}

/// Gathers questions of one kind.
pub struct Gathered<Q: Question> {
    shared: Arc<Shared<Q>>,
}

struct Shared<Q: Question> {
    pool: PgPool,
    state: Mutex<State<Q>>,
}

struct State<Q: Question> {
    waiting: VecDeque<Waiting<Q>>,
    running: usize,
}

struct Waiting<Q: Question> {
    question: Q,
    answer: oneshot::Sender<Result<Q::Answer, ApiError>>,
}

impl<Q: Question> Gathered<Q> {
    pub fn new(pool: PgPool) -> Self {
        let state = Mutex::new(State { waiting: VecDeque::new(), running: 0 });
        Self { shared: Arc::new(Shared { pool, state }) }
    }

    /// The answer to a question.
    pub async fn ask(&self, question: Q) -> Result<Q::Answer, ApiError> {
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut state = self.shared.state();
            if state.waiting.len() >= MOST_WAITING {
                return Err(ApiError::unavailable("too many reads wait; try again"));
            }
            state.waiting.push_back(Waiting { question, answer });
            let is_free = state.running < MOST_RUNNING;
            state.running = state.running.saturating_add(usize::from(is_free));
            is_free
        };
        if is_first {
            tokio::spawn(Place { shared: Arc::clone(&self.shared), given_up: false }.work());
        }
        answered.await.map_err(|_| ApiError::internal("a read ended without an answer"))?
    }
}

impl<Q: Question> Shared<Q> {
    fn state(&self) -> MutexGuard<'_, State<Q>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions of the next statement, those first that wait longest. Without one, the place is given up at once, so
    /// that no question comes in between and is not seen.
    fn next(&self) -> Option<Vec<Waiting<Q>>> {
        let mut state = self.state();
        state.waiting.retain(|waiting| !waiting.answer.is_closed());
        let Some(first) = state.waiting.pop_front() else {
            state.running = state.running.saturating_sub(1);
            return None;
        };
        let (text, mut together) = (first.question.text(), vec![first]);
        if together.iter().any(|first| first.question.is_large()) {
            return Some(together);
        }
        let mut at = 0;
        while let Some(waiting) = state.waiting.get(at).filter(|_| together.len() < Q::MOST_TOGETHER) {
            if waiting.question.text() == text && !waiting.question.is_large() {
                together.extend(state.waiting.remove(at));
            } else {
                at = at.saturating_add(1);
            }
        }
        Some(together)
    }

    async fn answer(&self, together: Vec<Waiting<Q>>) {
        let (questions, senders): (Vec<Q>, Vec<_>) =
            together.into_iter().map(|waiting| (waiting.question, waiting.answer)).unzip();
        match self.answers(&questions).await {
            Ok(answers) => {
                for (sender, answer) in senders.into_iter().zip(answers) {
                    let _ = sender.send(Ok(answer));
                }
            }
            // The fault of one question is not the others'.
            Err(error) if questions.len() > 1 && error.code != ErrorCode::Unavailable => {
                for (sender, question) in senders.into_iter().zip(questions) {
                    let alone = self.answers(&[question]).await.map(|mut answers| answers.pop());
                    let missing = || ApiError::internal("a read has no answer");
                    let _ = sender.send(alone.and_then(|answer| answer.ok_or_else(missing)));
                }
            }
            Err(error) => {
                for sender in senders {
                    let _ = sender.send(Err(error.clone()));
                }
            }
        }
    }

    /// A connection that does not answer is closed, so that it does not keep its place.
    async fn answers(&self, questions: &[Q]) -> Result<Vec<Q::Answer>, ApiError> {
        let asked = async {
            let mut connection = ReadConnection::acquire(&self.pool).await?;
            let answers = Q::ask(&mut connection, questions).await?;
            connection.done();
            Ok::<_, StoreError>(answers)
        };
        let answers = timeout(LONGEST, asked).await.map_err(|_| ApiError::unavailable("a read took too long"))?;
        Ok(answers?)
    }
}

/// One of the statements that may run.
struct Place<Q: Question> {
    shared: Arc<Shared<Q>>,
    /// By [`Shared::next`]. Otherwise the task ended in another way.
    given_up: bool,
}

impl<Q: Question> Place<Q> {
    async fn work(mut self) {
        while let Some(together) = self.shared.next() {
            self.shared.answer(together).await;
        }
        self.given_up = true;
    }
}

impl<Q: Question> Drop for Place<Q> {
    fn drop(&mut self) {
        if !self.given_up {
            let mut state = self.shared.state();
            state.running = state.running.saturating_sub(1);
        }
    }
}
