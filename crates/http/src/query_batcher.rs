//! Reads that many requests make at the same time, gathered: one statement answers all questions that wait when a
//! connection becomes free. Alone, a question is asked at once. Under load, requests share the cost of a round trip, of
//! the start of a plan, and of a snapshot.
//!
//! A statement begins after the requests of its questions have come. So each answer is as new as if it were read alone,
//! and a credential that was revoked before a request came is refused. For the same reason equal questions of a statement
//! share one answer: several processes of one client often ask for the same list.

use std::{sync::Arc, time::Duration};

use crtx_store::{PgConnection, PgPool, StoreError, pools::ReadConnection};
use futures::future::BoxFuture;
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::timeout,
};

use crate::error::{ApiError, ErrorCode};

/// Statements of one kind that run at the same time. Few: then more questions share one.
const MOST_RUNNING: usize = 2;
/// How long a statement may take, with the wait for its connection. The limits of the pool are shorter; this one is for a
/// server that does not answer at all.
const LONGEST: Duration = Duration::from_secs(6);
/// Questions that wait. More are refused.
const MOST_WAITING: usize = 2_048;

/// Reads the answers to some questions, no two of them equal, in their order. Each question is cheap for any value that a
/// client can send.
pub type Ask<Q, A> = for<'a> fn(&'a mut PgConnection, &'a [Q]) -> BoxFuture<'a, Result<Vec<A>, StoreError>>;

/// Gathers questions of one kind.
pub struct QueryBatcher<Q, A> {
    questions: mpsc::Sender<(Q, Asker<A>)>,
}

type Asker<A> = oneshot::Sender<Result<A, ApiError>>;

impl<Q: PartialEq + Send + Sync + 'static, A: Clone + Send + 'static> QueryBatcher<Q, A> {
    /// `most_together`: questions in one statement. All of them wait until the last one is answered.
    pub fn new(pool: PgPool, most_together: usize, ask: Ask<Q, A>) -> Self {
        let (questions, waiting) = mpsc::channel(MOST_WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..MOST_RUNNING {
            let (pool, waiting) = (pool.clone(), Arc::clone(&waiting));
            tokio::spawn(async move {
                loop {
                    let mut together = Vec::new();
                    if waiting.lock().await.recv_many(&mut together, most_together).await == 0 {
                        return;
                    }
                    // In a task of its own, so that a panic ends this statement alone.
                    let _ = tokio::spawn(answer(pool.clone(), ask, together)).await;
                }
            });
        }
        Self { questions }
    }

    /// The answer to a question.
    pub async fn ask(&self, question: Q) -> Result<A, ApiError> {
        let (asker, answer) = oneshot::channel();
        let sent = self.questions.try_send((question, asker));
        sent.map_err(|_| ApiError::unavailable("too many reads wait; try again"))?;
        answer.await.map_err(|_| ApiError::internal("a read ended without an answer"))?
    }
}

async fn answer<Q: PartialEq, A: Clone>(pool: PgPool, ask: Ask<Q, A>, together: Vec<(Q, Asker<A>)>) {
    let (mut questions, mut askers): (Vec<Q>, Vec<Vec<Asker<A>>>) = (Vec::new(), Vec::new());
    for (question, asker) in together.into_iter().filter(|(_, asker)| !asker.is_closed()) {
        match questions.iter().position(|asked| *asked == question).and_then(|at| askers.get_mut(at)) {
            Some(askers) => askers.push(asker),
            None => {
                questions.push(question);
                askers.push(vec![asker]);
            }
        }
    }
    if questions.is_empty() {
        return;
    }
    match answers(&pool, ask, &questions).await {
        Ok(answers) => {
            for (askers, answer) in askers.into_iter().zip(answers) {
                tell(askers, Ok(answer));
            }
        }
        // The fault of one question is not the others'.
        Err(error) if questions.len() > 1 && error.code != ErrorCode::Unavailable => {
            for (askers, question) in askers.into_iter().zip(questions) {
                let alone = answers(&pool, ask, &[question]).await.map(|mut answers| answers.pop());
                let missing = || ApiError::internal("a read has no answer");
                tell(askers, alone.and_then(|answer| answer.ok_or_else(missing)));
            }
        }
        Err(error) => tell(askers.into_iter().flatten().collect(), Err(error)),
    }
}

/// A connection that does not answer is closed, so that it does not keep its place.
async fn answers<Q, A>(pool: &PgPool, ask: Ask<Q, A>, questions: &[Q]) -> Result<Vec<A>, ApiError> {
    let asked = async {
        let mut connection = ReadConnection::acquire(pool).await?;
        let answers = ask(&mut connection, questions).await?;
        connection.done();
        Ok::<_, StoreError>(answers)
    };
    let answers = timeout(LONGEST, asked).await.map_err(|_| ApiError::unavailable("a read took too long"))?;
    Ok(answers?)
}

fn tell<A: Clone>(mut askers: Vec<Asker<A>>, answer: Result<A, ApiError>) {
    let last = askers.pop();
    for asker in askers {
        let _ = asker.send(answer.clone());
    }
    if let Some(last) = last {
        let _ = last.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use crtx_store::testing::TestDatabase;
    use tokio::time::sleep;

    use super::*;

    type Asked = Arc<Mutex<Vec<Vec<u32>>>>;

    #[derive(Clone)]
    struct Number {
        number: u32,
        /// The numbers of each statement.
        asked: Asked,
    }

    impl PartialEq for Number {
        fn eq(&self, other: &Self) -> bool {
            self.number == other.number
        }
    }

    async fn ask(questions: &[Number]) -> Result<Vec<u32>, StoreError> {
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

    #[tokio::test]
    async fn equal_questions_that_wait_are_asked_once_and_everyone_has_an_answer() {
        let database = TestDatabase::create().await;
        let query_batcher = QueryBatcher::new(database.pool().clone(), 32, |_, questions| Box::pin(ask(questions)));
        let (query_batcher, asked) = (Arc::new(query_batcher), Asked::default());
        let ask = |number| {
            let (query_batcher, asked) = (Arc::clone(&query_batcher), Arc::clone(&asked));
            tokio::spawn(async move { (number, query_batcher.ask(Number { number, asked }).await) })
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
