//! The questions about executions that are asked together, and how a credential becomes a wallet.

use async_trait::async_trait;
use crtx_http::{ApiError, AuthState, Credential};
use crtx_store::{
    PgConnection, StoreError,
    reads::{
        self, Asker, ExecutionAnswer, ExecutionFilter, ExecutionListQuestion, ExecutionPage, ExecutionPlace,
        ExecutionQuestion, Start,
    },
};
use solana_pubkey::Pubkey;

use crate::{
    gathered::{CopyAnswer, Gathered, Question},
    state::ApiState,
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

#[async_trait]
impl Question for ExecutionQuestion {
    type Answer = ExecutionAnswer;

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        reads::executions(connection, questions).await
    }
}

#[async_trait]
impl Question for ExecutionListQuestion {
    type Answer = Option<(Pubkey, ExecutionPage)>;

    fn is_large(&self) -> bool {
        is_slow(&self.filter, &self.start)
    }

    fn copy_for(&self, other: &Self) -> Option<CopyAnswer<Self>> {
        (self == other).then_some(Clone::clone)
    }

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        reads::execution_lists(connection, questions).await
    }
}

/// The wallet of a credential, and what it reads. Most credentials were used a moment ago: then one statement finds the
/// wallet and reads. Otherwise the credential is authenticated first, which refuses it or notes its use; so is a session
/// whose request names the wallet that it means.
pub async fn ask_as<Q, T>(
    state: &ApiState,
    gathered: &Gathered<Q>,
    credential: Credential,
    question: impl Fn(Asker) -> Q,
) -> Result<(Pubkey, T), ApiError>
where
    Q: Question<Answer = Option<(Pubkey, T)>>,
    T: Send + 'static,
{
    if let Some(asker) = credential.asker()
        && let Some(answer) = gathered.ask(question(asker.clone())).await?
    {
        state.strangers().note(&asker, &Ok(()));
        return Ok(answer);
    }
    let reader = credential.authenticate(state).await?;
    let answer = gathered.ask(question(Asker::Wallet(reader.wallet))).await?;
    answer.ok_or_else(|| ApiError::internal("a wallet has no answer"))
}
