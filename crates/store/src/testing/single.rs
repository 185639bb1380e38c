//! One question to a read that answers several in one statement.

use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{
    StoreError,
    reads::{
        ExecutionDetails, ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace, ExecutionQuestion,
        Start, execution_lists, executions,
    },
};

/// One execution of that wallet. `None` for another wallet's execution with the same UUID.
pub async fn execution(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    execution_id: &Uuid,
) -> Result<Option<ExecutionDetails>, StoreError> {
    let question = ExecutionQuestion { wallet: *caller, execution_id: *execution_id };
    Ok(executions(executor, &[question]).await?.pop().flatten())
}

/// A part of the executions of one wallet, newest first, and how many there are.
pub async fn list_executions(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    filter: &ExecutionFilter,
    limit: u32,
    start: &Start<ExecutionPlace>,
) -> Result<ExecutionPage, StoreError> {
    let question = ExecutionListQuestion { wallet: *wallet, filter: *filter, limit, start: *start };
    let answer = execution_lists(executor, &[question]).await?.pop();
    Ok(answer.expect("one answer for each question"))
}
