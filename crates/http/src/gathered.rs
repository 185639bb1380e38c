//! Reads that many requests make at the same time, gathered: one statement answers all questions that wait when a
//! connection becomes free. Alone, a question is asked at once. Under load, requests share the cost of a round trip, of
//! the start of a plan, and of a snapshot.
//!
//! A statement begins after the requests of its questions have come. So each answer is as new as if it were read alone,
//! and a credential that was revoked before a request came is refused. For the same reason equal questions can share one
//! answer: several processes of one client often ask for the same list.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use crtx_store::{PgConnection, PgPool, StoreError, pools::ReadConnection};
use tokio::{sync::oneshot, time::timeout};

use crate::error::{ApiError, ErrorCode};

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

    /// Whether it costs more than others and is asked alone, so that others do not wait for it.
    fn is_large(&self) -> bool {
        false
    }

    /// How the answer to this question is copied for the other one. `None`: the other one has to be asked.
    fn copy_for(&self, _other: &Self) -> Option<CopyAnswer<Self>> {
        None
    }

    /// The answers, in the order of the questions.
    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError>;
}

/// Makes the answer to an equal question.
pub type CopyAnswer<Q> = fn(&<Q as Question>::Answer) -> <Q as Question>::Answer;

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
    answer: Answers<Q>,
}

type Answers<Q> = oneshot::Sender<Result<<Q as Question>::Answer, ApiError>>;

/// A question of a statement, and all who asked it.
type Asked<Q> = (Q, Askers<Q>);

/// Those who wait for one answer.
struct Askers<Q: Question> {
    first: Answers<Q>,
    others: Vec<(Answers<Q>, CopyAnswer<Q>)>,
}

impl<Q: Question> Askers<Q> {
    const fn new(first: Answers<Q>) -> Self {
        Self { first, others: Vec::new() }
    }

    fn tell(self, answer: Result<Q::Answer, ApiError>) {
        for (other, copy) in self.others {
            let _ = other.send(answer.as_ref().map(copy).map_err(ApiError::clone));
        }
        let _ = self.first.send(answer);
    }
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
    fn next(&self) -> Option<Vec<Asked<Q>>> {
        let mut state = self.state();
        state.waiting.retain(|waiting| !waiting.answer.is_closed());
        let Some(first) = state.waiting.pop_front() else {
            state.running = state.running.saturating_sub(1);
            return None;
        };
        let is_large = first.question.is_large();
        let mut together = vec![(first.question, Askers::new(first.answer))];
        let mut others = VecDeque::with_capacity(state.waiting.len());
        for waiting in state.waiting.drain(..) {
            if let Some((copy, askers)) =
                together.iter_mut().find_map(|(asked, askers)| Some((asked.copy_for(&waiting.question)?, askers)))
            {
                askers.others.push((waiting.answer, copy));
            } else if !is_large && !waiting.question.is_large() && together.len() < Q::MOST_TOGETHER {
                together.push((waiting.question, Askers::new(waiting.answer)));
            } else {
                others.push_back(waiting);
            }
        }
        state.waiting = others;
        Some(together)
    }

    async fn answer(&self, together: Vec<Asked<Q>>) {
        let (questions, askers): (Vec<Q>, Vec<Askers<Q>>) = together.into_iter().unzip();
        match self.answers(&questions).await {
            Ok(answers) => {
                for (askers, answer) in askers.into_iter().zip(answers) {
                    askers.tell(Ok(answer));
                }
            }
            // The fault of one question is not the others'.
            Err(error) if questions.len() > 1 && error.code != ErrorCode::Unavailable => {
                for (askers, question) in askers.into_iter().zip(questions) {
                    let alone = self.answers(&[question]).await.map(|mut answers| answers.pop());
                    let missing = || ApiError::internal("a read has no answer");
                    askers.tell(alone.and_then(|answer| answer.ok_or_else(missing)));
                }
            }
            Err(error) => {
                for askers in askers {
                    askers.tell(Err(error.clone()));
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

#[cfg(test)]
mod tests {
    use crtx_store::testing::TestDatabase;
    use tokio::time::sleep;

    use super::*;

    type Asked = Arc<Mutex<Vec<Vec<u32>>>>;

    struct Number {
        number: u32,
        /// The numbers of each statement.
        asked: Asked,
    }

    #[async_trait]
    impl Question for Number {
        type Answer = u32;

        fn copy_for(&self, other: &Self) -> Option<CopyAnswer<Self>> {
            (self.number == other.number).then_some(u32::clone)
        }

        async fn ask(_: &mut PgConnection, questions: &[Self]) -> Result<Vec<u32>, StoreError> {
            if let Some(question) = questions.first() {
                let numbers = questions.iter().map(|question| question.number).collect();
                question.asked.lock().expect("not poisoned").push(numbers);
            }
            sleep(Duration::from_millis(200)).await;
            if questions.iter().any(|question| question.number == 13) {
                return Err(StoreError::OutOfRange { what: "number", value: "13".to_owned() });
            }
            Ok(questions.iter().map(|question| question.number.saturating_mul(10)).collect())
        }
    }

    #[tokio::test]
    async fn equal_questions_that_wait_are_asked_once_and_everyone_has_an_answer() {
        let database = TestDatabase::create().await;
        let (gathered, asked) = (Arc::new(Gathered::<Number>::new(database.pool().clone())), Asked::default());
        let ask = |number| {
            let (gathered, asked) = (Arc::clone(&gathered), Arc::clone(&asked));
            tokio::spawn(async move { (number, gathered.ask(Number { number, asked }).await) })
        };
        // Both statements that may run are under way when the others come.
        let mut all = vec![ask(1)];
        sleep(Duration::from_millis(20)).await;
        all.push(ask(1));
        sleep(Duration::from_millis(20)).await;
        all.extend([1, 2, 2, 3, 1, 2, 13, 13, 2].map(ask));
        for answered in all {
            let (number, answer) = answered.await.expect("no panic");
            match number {
                13 => assert_eq!(answer.expect_err("its own fault").code, ErrorCode::Internal),
                _ => assert_eq!(answer.expect("an answer"), number * 10),
            }
        }
        let asked = asked.lock().expect("not poisoned");
        // One of the third statement failed, so each of its questions was asked alone.
        let alone = [vec![1], vec![2], vec![3], vec![13]];
        assert_eq!(*asked, [vec![vec![1], vec![1], vec![1, 2, 3, 13]], alone.to_vec()].concat());
    }
}
