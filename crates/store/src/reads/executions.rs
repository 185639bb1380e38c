//! Executions as their caller sees them, each alone: the views `shown_executions…`. One statement answers several
//! questions.

use agent_marketplace::state::{DisputeOutcome, FailureReason, Settler};
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{
    execution_list::{ListedExecution, ShownStatus},
    numbers::{dispute_outcome, failure_reason, settler},
};
use crate::{
    convert::{amount_from_db, fixed_bytes, optional_amount_from_db, pubkey},
    error::StoreError,
    executions::REFUNDED,
};

/// An execution with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionDetails {
    pub summary: ListedExecution,
    /// The agent's address if none of its documents is known.
    pub agent_name: String,
    pub creator_amount: UsdcBase,
    pub platform_amount: UsdcBase,
    /// Shown once it is paid for, if a gateway of this deployment made the call.
    pub result: Option<String>,
    pub result_hash: Option<[u8; 32]>,
    pub tokens_used: Option<u64>,
    pub execution_time_ms: Option<u64>,
    /// `None` unless a settlement is on chain.
    pub settled_by: Option<Settler>,
    /// Whether the result is signed for this call; `None` before the record is on chain.
    pub binding: Option<bool>,
    pub steps: Option<Value>,
    pub failure: Option<ShownFailure>,
    pub dispute: Option<ShownDispute>,
}

/// Why an execution failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownFailure {
    /// The answer to the caller, whether or not it was received.
    Answered {
        code: String,
        message: String,
    },
    OnChain(FailureReason),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownDispute {
    pub outcome: DisputeOutcome,
    pub raised_at: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub evidence_hash: [u8; 32],
    pub evidence_uri: String,
    /// `None` before the creator has answered.
    pub answer: Option<ShownAnswer>,
    /// What the caller got back.
    pub compensation: UsdcBase,
    /// What the insurance received.
    pub penalty: UsdcBase,
}

/// The creator's answer to a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownAnswer {
    pub hash: [u8; 32],
    pub uri: String,
    pub answered_at: DateTime<Utc>,
}

/// One question for an execution.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionQuestion {
    /// Whose execution it is, as a caller.
    pub wallet: Pubkey,
    pub execution_id: Uuid,
}

/// One execution of that wallet. `None` for another wallet's execution with the same UUID.
pub async fn execution(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    execution_id: &Uuid,
) -> Result<Option<ExecutionDetails>, StoreError> {
    let question = ExecutionQuestion { wallet: *caller, execution_id: *execution_id };
    executions(executor, &[question]).await?.pop().flatten().transpose()
}

/// What a question about an execution comes to. `None`: the wallet has no such execution.
pub type ExecutionAnswer = Option<Result<ExecutionDetails, StoreError>>;

/// The answers to several questions, in their order, all of one moment.
pub async fn executions(
    executor: impl PgExecutor<'_>,
    questions: &[ExecutionQuestion],
) -> Result<Vec<ExecutionAnswer>, StoreError> {
    let wallets: Vec<String> = questions.iter().map(|question| question.wallet.to_string()).collect();
    let ids: Vec<Uuid> = questions.iter().map(|question| question.execution_id).collect();
    // `LIMIT 1`: found once for each question, by an index.
    let rows = sqlx::query_as!(
        ShownRow,
        r#"SELECT q.place AS "place!", x.execution_id AS "execution_id?", x.record, x.agent, x.status, x.cost,
                  x.initiated_at, x.completed_at, x.creator_amount, x.platform_amount,
                  x.result, x.result_hash, x.tokens_used, x.execution_time_ms, x.settled_by, x.binding, x.steps,
                  x.failure_reason,
                  x.error_code, x.error_message, x.dispute_outcome, x.dispute_raised_at, x.dispute_resolved_at,
                  x.dispute_evidence_hash, x.dispute_evidence_uri, x.dispute_compensation, x.dispute_penalty,
                  x.dispute_answer_hash, x.dispute_answer_uri, x.dispute_answered_at,
                  COALESCE((SELECT a.name FROM mirror_agents a WHERE a.address = x.agent), (
                      SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                      WHERE m.agent = x.agent AND m.error IS NULL
                      ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1))
                  AS "agent_name?"
           FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS q (wallet, execution_id, place)
           LEFT JOIN LATERAL (
               SELECT * FROM shown_executions s WHERE s.caller = q.wallet AND s.execution_id = q.execution_id LIMIT 1)
               AS x ON true"#,
        &wallets,
        &ids,
    )
    .fetch_all(executor)
    .await?;
    let mut answers: Vec<ExecutionAnswer> = questions.iter().map(|_| None).collect();
    for row in rows {
        let place = usize::try_from(row.place).ok().and_then(|place| place.checked_sub(1));
        if let Some(answer) = place.and_then(|place| answers.get_mut(place)) {
            *answer = row.details().transpose();
        }
    }
    Ok(answers)
}

/// A row as it is selected. Without an execution, all but the first column are null.
struct ShownRow {
    place: i64,
    execution_id: Option<Uuid>,
    record: Option<String>,
    agent: Option<String>,
    status: Option<String>,
    cost: Option<i64>,
    initiated_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
    creator_amount: Option<i64>,
    platform_amount: Option<i64>,
    result: Option<Vec<u8>>,
    result_hash: Option<Vec<u8>>,
    tokens_used: Option<i64>,
    execution_time_ms: Option<i64>,
    settled_by: Option<i16>,
    binding: Option<bool>,
    steps: Option<Value>,
    failure_reason: Option<i16>,
    error_code: Option<String>,
    error_message: Option<String>,
    dispute_outcome: Option<i16>,
    dispute_raised_at: Option<DateTime<Utc>>,
    dispute_resolved_at: Option<DateTime<Utc>>,
    dispute_evidence_hash: Option<Vec<u8>>,
    dispute_evidence_uri: Option<String>,
    dispute_compensation: Option<i64>,
    dispute_penalty: Option<i64>,
    dispute_answer_hash: Option<Vec<u8>>,
    dispute_answer_uri: Option<String>,
    dispute_answered_at: Option<DateTime<Utc>>,
    agent_name: Option<String>,
}

impl ShownRow {
    fn details(self) -> Result<Option<ExecutionDetails>, StoreError> {
        let Some(execution_id) = self.execution_id else { return Ok(None) };
        let missing = || StoreError::corrupt("execution", "a value is missing");
        let (Some(record), Some(agent), Some(status)) = (&self.record, &self.agent, &self.status) else {
            return Err(missing());
        };
        let summary = ListedExecution {
            execution_id,
            record: pubkey("record address", record)?,
            agent: pubkey("agent address", agent)?,
            status: ShownStatus::parse(status).ok_or_else(|| StoreError::corrupt("execution status", status))?,
            cost: UsdcBase(amount_from_db("cost", self.cost.ok_or_else(missing)?)?),
            initiated_at: self.initiated_at.ok_or_else(missing)?,
            completed_at: self.completed_at,
        };
        let dispute = self.dispute()?;
        let failed = summary.status == ShownStatus::Failed;
        let amount = |name, amount: Option<i64>| amount_from_db(name, amount.ok_or_else(missing)?).map(UsdcBase);
        Ok(Some(ExecutionDetails {
            creator_amount: amount("creator amount", self.creator_amount)?,
            platform_amount: amount("platform amount", self.platform_amount)?,
            result: self.result.map(text).transpose()?,
            result_hash: self.result_hash.as_deref().map(|hash| fixed_bytes("result hash", hash)).transpose()?,
            tokens_used: optional_amount_from_db("tokens used", self.tokens_used)?,
            execution_time_ms: optional_amount_from_db("execution time", self.execution_time_ms)?,
            settled_by: self.settled_by.map(settler).transpose()?,
            binding: self.binding,
            steps: self.steps,
            failure: if failed { failure(self.error_code, self.error_message, self.failure_reason)? } else { None },
            agent_name: self.agent_name.unwrap_or_else(|| summary.agent.to_string()),
            dispute,
            summary,
        }))
    }

    fn dispute(&self) -> Result<Option<ShownDispute>, StoreError> {
        let (Some(outcome), Some(raised_at), Some(evidence)) =
            (self.dispute_outcome, self.dispute_raised_at, &self.dispute_evidence_hash)
        else {
            return Ok(None);
        };
        let answer = match (&self.dispute_answer_hash, &self.dispute_answer_uri, self.dispute_answered_at) {
            (Some(hash), Some(uri), Some(answered_at)) => {
                Some(ShownAnswer { hash: fixed_bytes("answer hash", hash)?, uri: uri.clone(), answered_at })
            }
            _ => None,
        };
        let amount = |name, amount: Option<i64>| amount_from_db(name, amount.unwrap_or_default()).map(UsdcBase);
        Ok(Some(ShownDispute {
            outcome: dispute_outcome(outcome)?,
            raised_at,
            resolved_at: self.dispute_resolved_at,
            evidence_hash: fixed_bytes("evidence hash", evidence)?,
            evidence_uri: self.dispute_evidence_uri.clone().unwrap_or_default(),
            answer,
            compensation: amount("compensation", self.dispute_compensation)?,
            penalty: amount("penalty", self.dispute_penalty)?,
        }))
    }
}

fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| StoreError::corrupt("result text", error))
}

fn failure(
    code: Option<String>,
    message: Option<String>,
    reason: Option<i16>,
) -> Result<Option<ShownFailure>, StoreError> {
    Ok(match (code, message, reason) {
        (Some(code), Some(problem), Some(_)) => {
            Some(ShownFailure::Answered { code, message: format!("{problem}; {REFUNDED}") })
        }
        // Without a reason no escrow was opened.
        (Some(code), Some(message), None) => Some(ShownFailure::Answered { code, message }),
        (_, _, Some(reason)) => Some(ShownFailure::OnChain(failure_reason(reason)?)),
        _ => None,
    })
}
