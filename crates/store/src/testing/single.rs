//! One question to a read that answers several in one statement.

use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::{
    Result, StoreError,
    api_keys::{self, ApiKeyRow},
    reads::{
        ExecutionDetails, ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace, ExecutionQuestion,
        Start, agent_list::AgentListSnapshot, execution_lists, executions,
    },
    sessions::{self, SessionRow},
};

impl<P> Start<P> {
    pub const FIRST: Self = Self::Offset(0);
}

impl AgentListSnapshot {
    /// The connection of the transaction.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}

/// One execution of that wallet. `None` for another wallet's execution with the same UUID.
pub async fn execution(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    execution_id: &Uuid,
) -> Result<Option<ExecutionDetails>, StoreError> {
    let question = ExecutionQuestion { wallet: *caller, execution_id: *execution_id };
    Ok(executions(executor, &[question]).await?.pop().flatten())
}

/// The key with that session public key, revoked or not.
pub async fn api_key(db: impl PgExecutor<'_>, session_public_key: &Pubkey) -> Result<Option<ApiKeyRow>> {
    Ok(api_keys::find_all(db, &[*session_public_key]).await?.pop())
}

/// The session with that token, over or not.
pub async fn session(db: impl PgExecutor<'_>, token_hash: &[u8; 32]) -> Result<Option<SessionRow>> {
    Ok(sessions::find_all(db, &[*token_hash]).await?.pop())
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
