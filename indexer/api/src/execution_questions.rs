//! The questions about executions that are asked together.

use async_trait::async_trait;
use crtx_http::gathered::{CopyAnswer, Question};
use crtx_store::{
    PgConnection, StoreError,
    reads::{
        self, ExecutionAnswer, ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace,
        ExecutionQuestion, Start,
    },
};

/// A list that skips more rows than this is slow.
const LARGE_OFFSET: u64 = 1_000;

/// Whether the database may have to read as many rows as a wallet has: those that an offset skips, and those of the days
/// in which a time range begins and ends. Such lists have connections and a time limit of their own, and each is asked
/// alone.
pub fn is_slow(filter: &ExecutionFilter, start: &Start<ExecutionPlace>) -> bool {
    let skips = matches!(start, Start::Offset(skipped) if *skipped > LARGE_OFFSET);
    skips || filter.from.is_some() || filter.to.is_some()
}

/// One execution.
pub struct Single(pub ExecutionQuestion);

#[async_trait]
impl Question for Single {
    type Answer = ExecutionAnswer;

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        let questions: Vec<ExecutionQuestion> = questions.iter().map(|question| question.0).collect();
        reads::executions(connection, &questions).await
    }
}

/// A part of a list.
pub struct Part(pub ExecutionListQuestion);

#[async_trait]
impl Question for Part {
    type Answer = ExecutionPage;

    fn is_large(&self) -> bool {
        is_slow(&self.0.filter, &self.0.start)
    }

    fn copy_for(&self, other: &Self) -> Option<CopyAnswer<Self>> {
        (self.0 == other.0).then_some(Clone::clone)
    }

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        let questions: Vec<ExecutionListQuestion> = questions.iter().map(|question| question.0).collect();
        reads::execution_lists(connection, &questions).await
    }
}
