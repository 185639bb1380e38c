//! Executions as their caller sees them: the views `shown_executions…`.

use agent_marketplace::state::{DisputeOutcome, FailureReason, Settler};
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{
    numbers::{dispute_outcome, failure_reason, settler},
    page::Page,
};
use crate::{
    convert::{amount_from_db, fixed_bytes, optional_amount_from_db, pubkey},
    error::StoreError,
    executions::REFUNDED,
};

/// The status that a caller sees. `docs/specification.md`, "Execution states in the gateway".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Disputed,
}

impl ShownStatus {
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Disputed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Disputed => "disputed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    fn from_db(text: &str) -> Result<Self, StoreError> {
        Self::parse(text).ok_or_else(|| StoreError::corrupt("execution status", text))
    }
}

/// Which executions of a wallet to list. The default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub status: Option<ShownStatus>,
    pub agent: Option<Pubkey>,
    /// Initiated after this time.
    pub from: Option<DateTime<Utc>>,
    /// Initiated before this time.
    pub to: Option<DateTime<Utc>>,
}

/// An execution in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedExecution {
    pub execution_id: Uuid,
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub agent: Pubkey,
    /// The agent's address if none of its documents is known.
    pub agent_name: String,
    pub status: ShownStatus,
    pub cost: UsdcBase,
    pub initiated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
}

/// An execution with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionDetails {
    pub summary: ListedExecution,
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

/// A row of a list.
struct ExecutionRow {
    execution_id: Uuid,
    record: String,
    agent: String,
    agent_name: Option<String>,
    status: String,
    cost: i64,
    initiated_at: DateTime<Utc>,
    completed_at: Option<DateTime<Utc>>,
}

impl TryFrom<ExecutionRow> for ListedExecution {
    type Error = StoreError;

    fn try_from(row: ExecutionRow) -> Result<Self, StoreError> {
        Ok(Self {
            execution_id: row.execution_id,
            record: pubkey("record address", &row.record)?,
            agent: pubkey("agent address", &row.agent)?,
            agent_name: row.agent_name.unwrap_or(row.agent),
            status: ShownStatus::from_db(&row.status)?,
            cost: UsdcBase(amount_from_db("cost", row.cost)?),
            initiated_at: row.initiated_at,
            completed_at: row.completed_at,
        })
    }
}

/// Calls a macro with the SQL that selects one wallet's executions by a filter. $1 is the caller; $2 to $5 are the
/// members of [`ExecutionFilter`].
macro_rules! with_filter {
    ($query:ident) => {
        $query!(
            "WHERE x.caller = $1 AND ($2::text IS NULL OR x.status = $2) AND ($3::text IS NULL OR x.agent = $3)
               AND ($4::timestamptz IS NULL OR x.initiated_at > $4)
               AND ($5::timestamptz IS NULL OR x.initiated_at < $5)"
        )
    };
}

/// How many executions of one wallet pass the filter.
pub async fn count_executions(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    filter: &ExecutionFilter,
) -> Result<u64, StoreError> {
    macro_rules! count {
        ($matching:tt) => {
            sqlx::query_scalar!(
                "SELECT (SELECT count(*) FROM shown_executions_on_chain x "
                    + $matching
                    + ") + (SELECT count(*) FROM shown_executions_off_chain x "
                    + $matching
                    + ") AS \"total!\"",
                caller.to_string(),
                filter.status.map(ShownStatus::as_str),
                filter.agent.map(|agent| agent.to_string()),
                filter.from,
                filter.to,
            )
        };
    }
    amount_from_db("count", with_filter!(count).fetch_one(executor).await?)
}

/// One page of the executions of one wallet, newest first.
pub async fn list_executions(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    filter: &ExecutionFilter,
    page: Page,
) -> Result<Vec<ListedExecution>, StoreError> {
    let (limit, offset) = page.to_db()?;
    macro_rules! page_of {
        ($matching:tt) => {
            sqlx::query_as!(
                ExecutionRow,
                r#"SELECT p.execution_id AS "execution_id!", p.record AS "record!", p.agent AS "agent!",
                          p.status AS "status!", p.cost AS "cost!", p.initiated_at AS "initiated_at!", p.completed_at,
                          (SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                           WHERE m.agent = p.agent AND m.error IS NULL
                           ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)
                          AS "agent_name?"
                   FROM (
                       (SELECT x.execution_id, x.record, x.agent, x.status, x.cost, x.initiated_at, x.completed_at
                        FROM shown_executions_on_chain x "#
                    + $matching
                    + " ORDER BY x.initiated_at DESC, x.execution_id DESC
                        LIMIT $6::bigint + $7::bigint)
                       UNION ALL
                       (SELECT x.execution_id, x.record, x.agent, x.status, x.cost, x.initiated_at, x.completed_at
                        FROM shown_executions_off_chain x "
                    + $matching
                    + " ORDER BY x.initiated_at DESC, x.execution_id DESC
                        LIMIT $6::bigint + $7::bigint)
                   ) p
                   ORDER BY p.initiated_at DESC, p.execution_id DESC
                   LIMIT $6 OFFSET $7",
                caller.to_string(),
                filter.status.map(ShownStatus::as_str),
                filter.agent.map(|agent| agent.to_string()),
                filter.from,
                filter.to,
                limit,
                offset,
            )
        };
    }
    with_filter!(page_of).fetch_all(executor).await?.into_iter().map(ListedExecution::try_from).collect()
}

/// One execution of that wallet. `None` for another wallet's execution with the same UUID.
pub async fn execution(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    execution_id: &Uuid,
) -> Result<Option<ExecutionDetails>, StoreError> {
    let Some(row) = sqlx::query!(
        r#"SELECT x.execution_id AS "execution_id!", x.record AS "record!", x.agent AS "agent!",
                  x.status AS "status!", x.cost AS "cost!", x.initiated_at AS "initiated_at!", x.completed_at,
                  x.creator_amount AS "creator_amount!", x.platform_amount AS "platform_amount!",
                  x.result, x.result_hash, x.tokens_used, x.execution_time_ms, x.settled_by, x.binding, x.steps,
                  x.failure_reason,
                  x.error_code, x.error_message, x.dispute_outcome, x.dispute_raised_at, x.dispute_resolved_at,
                  x.dispute_evidence_hash, x.dispute_evidence_uri, x.dispute_compensation, x.dispute_penalty,
                  x.dispute_answer_hash, x.dispute_answer_uri, x.dispute_answered_at,
                  (SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                   WHERE m.agent = x.agent AND m.error IS NULL
                   ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)
                  AS "agent_name?"
           FROM shown_executions x WHERE x.caller = $1 AND x.execution_id = $2"#,
        caller.to_string(),
        execution_id,
    )
    .fetch_optional(executor)
    .await?
    else {
        return Ok(None);
    };
    let summary: ListedExecution = ExecutionRow {
        execution_id: row.execution_id,
        record: row.record,
        agent: row.agent,
        agent_name: row.agent_name,
        status: row.status,
        cost: row.cost,
        initiated_at: row.initiated_at,
        completed_at: row.completed_at,
    }
    .try_into()?;
    let failed = summary.status == ShownStatus::Failed;
    Ok(Some(ExecutionDetails {
        creator_amount: UsdcBase(amount_from_db("creator amount", row.creator_amount)?),
        platform_amount: UsdcBase(amount_from_db("platform amount", row.platform_amount)?),
        result: row.result.map(text).transpose()?,
        result_hash: row.result_hash.as_deref().map(|hash| fixed_bytes("result hash", hash)).transpose()?,
        tokens_used: optional_amount_from_db("tokens used", row.tokens_used)?,
        execution_time_ms: optional_amount_from_db("execution time", row.execution_time_ms)?,
        settled_by: row.settled_by.map(settler).transpose()?,
        binding: row.binding,
        steps: row.steps,
        failure: if failed { failure(row.error_code, row.error_message, row.failure_reason)? } else { None },
        dispute: match (row.dispute_outcome, row.dispute_raised_at, row.dispute_evidence_hash) {
            (Some(outcome), Some(raised_at), Some(evidence)) => Some(ShownDispute {
                outcome: dispute_outcome(outcome)?,
                raised_at,
                resolved_at: row.dispute_resolved_at,
                evidence_hash: fixed_bytes("evidence hash", &evidence)?,
                evidence_uri: row.dispute_evidence_uri.unwrap_or_default(),
                answer: match (row.dispute_answer_hash, row.dispute_answer_uri, row.dispute_answered_at) {
                    (Some(hash), Some(uri), Some(answered_at)) => {
                        Some(ShownAnswer { hash: fixed_bytes("answer hash", &hash)?, uri, answered_at })
                    }
                    _ => None,
                },
                compensation: UsdcBase(amount_from_db("compensation", row.dispute_compensation.unwrap_or_default())?),
                penalty: UsdcBase(amount_from_db("penalty", row.dispute_penalty.unwrap_or_default())?),
            }),
            _ => None,
        },
        summary,
    }))
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
