//! The queries behind the read API: listings as the marketplace shows them, and executions as their
//! caller sees them.
//!
//! A listing is shown only with a metadata document whose SHA-256 is the one on chain.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{
    StoreError,
    convert::{amount_from_db, amount_to_db, pubkey},
};

/// Order of a list of agents. Ties are broken by address, so that pages neither repeat nor skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentSort {
    /// Most finished executions first.
    #[default]
    TotalExecutions,
    /// Highest first.
    SuccessRate,
    PriceAscending,
    PriceDescending,
    /// Newest first.
    CreatedAt,
}

/// Which agents to list. The default is all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentFilter {
    /// Agents that carry every one of these.
    pub tags: Vec<String>,
    /// 0 to 1.
    pub min_success_rate: f64,
    pub min_executions: u64,
    /// Only agents of creators whose identity has been verified.
    pub verified_only: bool,
}

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub offset: u64,
}

/// Specification 2.1.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSummary {
    pub address: Pubkey,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    pub price: UsdcBase,
    pub total_executions: u64,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub creator: Pubkey,
    pub creator_verified: bool,
    pub status: ListingStatus,
}

/// Specification 3.2. Delisted agents are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingStatus {
    Active,
    Paused,
}

/// Specification 2.2, and what it takes to call the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDetail {
    pub summary: AgentSummary,
    pub creator_display_name: Option<String>,
    pub successful_executions: u64,
    pub dispute_count: u64,
    pub created_at: DateTime<Utc>,
    /// The metadata document; its SHA-256 has been checked.
    pub document: Value,
    pub endpoint: String,
    pub result_key: Pubkey,
    pub timeout_seconds: u32,
}

struct SummaryRecord {
    address: String,
    name: String,
    tagline: String,
    tags: Vec<String>,
    price: i64,
    total_executions: i64,
    success_rate: f64,
    avg_execution_time_ms: i64,
    creator: String,
    verified: bool,
    status: i16,
}

impl TryFrom<SummaryRecord> for AgentSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRecord) -> Result<Self, StoreError> {
        Ok(Self {
            address: pubkey("agent address", &row.address)?,
            name: row.name,
            tagline: row.tagline,
            tags: row.tags,
            price: UsdcBase(amount_from_db("price", row.price)?),
            total_executions: amount_from_db("total executions", row.total_executions)?,
            success_rate: row.success_rate,
            avg_execution_time_ms: amount_from_db("mean execution time", row.avg_execution_time_ms)?,
            creator: pubkey("creator", &row.creator)?,
            creator_verified: row.verified,
            status: match row.status {
                1 => ListingStatus::Active,
                2 => ListingStatus::Paused,
                other => return Err(StoreError::corrupt("listing status", other)),
            },
        })
    }
}

/// How many active agents pass the filter. Exact, and therefore the larger part of what a list costs.
pub async fn count_agents(executor: impl PgExecutor<'_>, filter: &AgentFilter) -> Result<u64, StoreError> {
    let min_executions = i64::try_from(filter.min_executions).unwrap_or(i64::MAX);
    let total = sqlx::query_scalar!(
        r#"SELECT count(*) AS "total!"
           FROM mirror_agents a
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           WHERE a.status = 1 AND a.closed_at_slot IS NULL AND a.name IS NOT NULL
             AND ($1::text[] = '{}' OR a.tags @> $1)
             AND a.success_rate >= $2 AND a.total_executions >= $3 AND (NOT $4 OR c.verified)"#,
        &filter.tags,
        filter.min_success_rate,
        min_executions,
        filter.verified_only,
    )
    .fetch_one(executor)
    .await?;
    amount_from_db("count", total)
}

/// One page of the active agents that pass the filter.
pub async fn list_agents(
    executor: impl PgExecutor<'_>,
    filter: &AgentFilter,
    sort: AgentSort,
    page: Page,
) -> Result<Vec<AgentSummary>, StoreError> {
    let min_executions = i64::try_from(filter.min_executions).unwrap_or(i64::MAX);
    let limit = i64::from(page.limit);
    let offset = amount_to_db("offset", page.offset)?;
    macro_rules! page_ordered_by {
        ($order:tt) => {
            sqlx::query_as!(
                SummaryRecord,
                r#"SELECT a.address, a.name AS "name!", a.tagline AS "tagline!", a.tags AS "tags!", a.price,
                          a.total_executions, a.success_rate, a.avg_execution_time_ms, a.creator,
                          COALESCE(c.verified, false) AS "verified!", a.status
                   FROM mirror_agents a
                   LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
                   WHERE a.status = 1 AND a.closed_at_slot IS NULL AND a.name IS NOT NULL
                     AND ($1::text[] = '{}' OR a.tags @> $1)
                     AND a.success_rate >= $2 AND a.total_executions >= $3 AND (NOT $4 OR c.verified)
                   ORDER BY "#
                    + $order
                    + " LIMIT $5 OFFSET $6",
                &filter.tags,
                filter.min_success_rate,
                min_executions,
                filter.verified_only,
                limit,
                offset,
            )
            .fetch_all(executor)
            .await?
        };
    }
    let rows = match sort {
        AgentSort::TotalExecutions => page_ordered_by!("a.total_executions DESC, a.address"),
        AgentSort::SuccessRate => page_ordered_by!("a.success_rate DESC, a.address"),
        AgentSort::PriceAscending => page_ordered_by!("a.price, a.address"),
        AgentSort::PriceDescending => page_ordered_by!("a.price DESC, a.address"),
        AgentSort::CreatedAt => page_ordered_by!("a.created_at DESC, a.address"),
    };
    rows.into_iter().map(AgentSummary::try_from).collect()
}

/// One agent, active or paused. `None` if it was delisted or closed, or has no checked document.
pub async fn agent(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<AgentDetail>, StoreError> {
    let Some(row) = sqlx::query!(
        r#"SELECT a.address, m.name AS "name!", m.tagline AS "tagline!", m.tags AS "tags!", a.price,
                  a.total_executions, a.success_rate, a.avg_execution_time_ms, a.creator,
                  COALESCE(c.verified, false) AS "verified!", a.status, c.display_name AS "display_name?",
                  a.successful_executions, a.disputed_executions, a.created_at, m.document AS "document!",
                  m.endpoint AS "endpoint!", a.result_key, a.timeout_seconds
           FROM mirror_agents a
           JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           WHERE a.address = $1 AND a.status IN (1, 2) AND a.closed_at_slot IS NULL"#,
        address.to_string(),
    )
    .fetch_optional(executor)
    .await?
    else {
        return Ok(None);
    };
    Ok(Some(AgentDetail {
        creator_display_name: row.display_name,
        successful_executions: amount_from_db("successful executions", row.successful_executions)?,
        dispute_count: amount_from_db("dispute count", row.disputed_executions)?,
        created_at: row.created_at,
        document: row.document,
        endpoint: row.endpoint,
        result_key: pubkey("result key", &row.result_key)?,
        timeout_seconds: u32::try_from(row.timeout_seconds)
            .map_err(|_| StoreError::corrupt("time-out", row.timeout_seconds))?,
        summary: SummaryRecord {
            address: row.address,
            name: row.name,
            tagline: row.tagline,
            tags: row.tags,
            price: row.price,
            total_executions: row.total_executions,
            success_rate: row.success_rate,
            avg_execution_time_ms: row.avg_execution_time_ms,
            creator: row.creator,
            verified: row.verified,
            status: row.status,
        }
        .try_into()?,
    }))
}

/// Specification 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Disputed,
}

impl ExecutionStatus {
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
    pub status: Option<ExecutionStatus>,
    pub agent: Option<Pubkey>,
    /// Initiated after this time.
    pub from: Option<DateTime<Utc>>,
    /// Initiated before this time.
    pub to: Option<DateTime<Utc>>,
}

/// Specification 2.3, list form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionSummary {
    pub execution_id: Uuid,
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub agent: Pubkey,
    /// The agent's address while none of its documents is known.
    pub agent_name: String,
    pub status: ExecutionStatus,
    pub cost: UsdcBase,
    pub initiated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
}

/// Specification 2.3, full form.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionDetail {
    pub summary: ExecutionSummary,
    pub creator_amount: UsdcBase,
    pub platform_amount: UsdcBase,
    /// Known if this deployment's gateway carried the call out, and shown once it is paid for.
    pub result: Option<String>,
    pub result_hash: Option<[u8; 32]>,
    pub tokens_used: Option<u64>,
    pub execution_time_ms: Option<u64>,
    pub steps: Option<Value>,
    pub failure: Option<Failure>,
    pub dispute: Option<DisputeSummary>,
}

/// Why an execution failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The answer that the caller got, or would have got.
    Answered { code: String, message: String },
    /// The program's `FailureReason`.
    OnChain(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisputeSummary {
    pub outcome: DisputeOutcome,
    pub raised_at: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub evidence_hash: [u8; 32],
    pub evidence_uri: String,
    /// What the caller got back.
    pub compensation: UsdcBase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisputeOutcome {
    Open,
    Upheld,
    Rejected,
    /// The resolver did not decide in time.
    Expired,
}

struct ExecutionRecord {
    execution_id: Uuid,
    record: String,
    agent: String,
    agent_name: Option<String>,
    status: String,
    cost: i64,
    initiated_at: DateTime<Utc>,
    completed_at: Option<DateTime<Utc>>,
}

impl TryFrom<ExecutionRecord> for ExecutionSummary {
    type Error = StoreError;

    fn try_from(row: ExecutionRecord) -> Result<Self, StoreError> {
        Ok(Self {
            execution_id: row.execution_id,
            record: pubkey("record address", &row.record)?,
            agent: pubkey("agent address", &row.agent)?,
            agent_name: row.agent_name.unwrap_or(row.agent),
            status: ExecutionStatus::from_db(&row.status)?,
            cost: UsdcBase(amount_from_db("cost", row.cost)?),
            initiated_at: row.initiated_at,
            completed_at: row.completed_at,
        })
    }
}

/// How many executions of one wallet pass the filter. Exact.
pub async fn count_executions(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    filter: &ExecutionFilter,
) -> Result<u64, StoreError> {
    let caller = caller.to_string();
    let status = filter.status.map(ExecutionStatus::as_str);
    let agent = filter.agent.map(|agent| agent.to_string());
    let total = sqlx::query_scalar!(
        r#"SELECT
           (SELECT count(*) FROM execution_records_on_chain x
            WHERE x.caller = $1 AND ($2::text IS NULL OR x.status = $2) AND ($3::text IS NULL OR x.agent = $3)
              AND ($4::timestamptz IS NULL OR x.initiated_at > $4)
              AND ($5::timestamptz IS NULL OR x.initiated_at < $5))
           +
           (SELECT count(*) FROM execution_records_off_chain x
            WHERE x.caller = $1 AND ($2::text IS NULL OR x.status = $2) AND ($3::text IS NULL OR x.agent = $3)
              AND ($4::timestamptz IS NULL OR x.initiated_at > $4)
              AND ($5::timestamptz IS NULL OR x.initiated_at < $5))
           AS "total!""#,
        caller,
        status,
        agent,
        filter.from,
        filter.to,
    )
    .fetch_one(executor)
    .await?;
    amount_from_db("count", total)
}

/// One page of the executions of one wallet, newest first.
pub async fn list_executions(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    filter: &ExecutionFilter,
    page: Page,
) -> Result<Vec<ExecutionSummary>, StoreError> {
    let caller = caller.to_string();
    let status = filter.status.map(ExecutionStatus::as_str);
    let agent = filter.agent.map(|agent| agent.to_string());
    let rows = sqlx::query_as!(
        ExecutionRecord,
        r#"SELECT p.execution_id AS "execution_id!", p.record AS "record!", p.agent AS "agent!",
                  p.status AS "status!", p.cost AS "cost!", p.initiated_at AS "initiated_at!", p.completed_at,
                  (SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                   WHERE m.agent = p.agent AND m.error IS NULL
                   ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)
                  AS "agent_name?"
           FROM (
               (SELECT x.execution_id, x.record, x.agent, x.status, x.cost, x.initiated_at, x.completed_at
                FROM execution_records_on_chain x
                WHERE x.caller = $1 AND ($2::text IS NULL OR x.status = $2) AND ($3::text IS NULL OR x.agent = $3)
                  AND ($4::timestamptz IS NULL OR x.initiated_at > $4)
                  AND ($5::timestamptz IS NULL OR x.initiated_at < $5)
                ORDER BY x.initiated_at DESC, x.execution_id DESC
                LIMIT $6::bigint + $7::bigint)
               UNION ALL
               (SELECT x.execution_id, x.record, x.agent, x.status, x.cost, x.initiated_at, x.completed_at
                FROM execution_records_off_chain x
                WHERE x.caller = $1 AND ($2::text IS NULL OR x.status = $2) AND ($3::text IS NULL OR x.agent = $3)
                  AND ($4::timestamptz IS NULL OR x.initiated_at > $4)
                  AND ($5::timestamptz IS NULL OR x.initiated_at < $5)
                ORDER BY x.initiated_at DESC, x.execution_id DESC
                LIMIT $6::bigint + $7::bigint)
           ) p
           ORDER BY p.initiated_at DESC, p.execution_id DESC
           LIMIT $6 OFFSET $7"#,
        caller,
        status,
        agent,
        filter.from,
        filter.to,
        i64::from(page.limit),
        amount_to_db("offset", page.offset)?,
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(ExecutionSummary::try_from).collect()
}

/// One execution of that wallet. Another wallet's is `None`, also under the same UUID.
pub async fn execution(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    execution_id: &Uuid,
) -> Result<Option<ExecutionDetail>, StoreError> {
    let Some(row) = sqlx::query!(
        r#"SELECT x.execution_id AS "execution_id!", x.record AS "record!", x.agent AS "agent!",
                  x.status AS "status!", x.cost AS "cost!", x.initiated_at AS "initiated_at!", x.completed_at,
                  x.creator_amount AS "creator_amount!", x.platform_amount AS "platform_amount!",
                  x.result, x.result_hash, x.tokens_used, x.execution_time_ms, x.steps, x.failure_reason,
                  x.error_code, x.error_message, x.dispute_outcome, x.dispute_raised_at, x.dispute_resolved_at,
                  x.dispute_evidence_hash, x.dispute_evidence_uri, x.dispute_compensation,
                  (SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                   WHERE m.agent = x.agent AND m.error IS NULL
                   ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)
                  AS "agent_name?"
           FROM execution_records x WHERE x.caller = $1 AND x.execution_id = $2"#,
        caller.to_string(),
        execution_id,
    )
    .fetch_optional(executor)
    .await?
    else {
        return Ok(None);
    };
    let summary: ExecutionSummary = ExecutionRecord {
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
    let failed = summary.status == ExecutionStatus::Failed;
    Ok(Some(ExecutionDetail {
        creator_amount: UsdcBase(amount_from_db("creator amount", row.creator_amount)?),
        platform_amount: UsdcBase(amount_from_db("platform amount", row.platform_amount)?),
        result: row.result.map(text).transpose()?,
        result_hash: row.result_hash.map(hash).transpose()?,
        tokens_used: row.tokens_used.map(|tokens| amount_from_db("tokens used", tokens)).transpose()?,
        execution_time_ms: row.execution_time_ms.map(|ms| amount_from_db("execution time", ms)).transpose()?,
        steps: row.steps,
        failure: if failed { failure(row.error_code, row.error_message, row.failure_reason)? } else { None },
        dispute: match (row.dispute_outcome, row.dispute_raised_at, row.dispute_evidence_hash) {
            (Some(outcome), Some(raised_at), Some(evidence)) => Some(DisputeSummary {
                outcome: dispute_outcome(outcome)?,
                raised_at,
                resolved_at: row.dispute_resolved_at,
                evidence_hash: hash(evidence)?,
                evidence_uri: row.dispute_evidence_uri.unwrap_or_default(),
                compensation: UsdcBase(amount_from_db("compensation", row.dispute_compensation.unwrap_or_default())?),
            }),
            _ => None,
        },
        summary,
    }))
}

fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|error| StoreError::corrupt("result text", error))
}

fn hash(bytes: Vec<u8>) -> Result<[u8; 32], StoreError> {
    <[u8; 32]>::try_from(bytes).map_err(|bytes| StoreError::corrupt("hash", bytes.len()))
}

fn failure(code: Option<String>, message: Option<String>, reason: Option<i16>) -> Result<Option<Failure>, StoreError> {
    Ok(match (code, message, reason) {
        (Some(code), Some(message), _) => Some(Failure::Answered { code, message }),
        (_, _, Some(reason)) => {
            Some(Failure::OnChain(u8::try_from(reason).map_err(|_| StoreError::corrupt("failure reason", reason))?))
        }
        _ => None,
    })
}

fn dispute_outcome(outcome: i16) -> Result<DisputeOutcome, StoreError> {
    match outcome {
        1 => Ok(DisputeOutcome::Open),
        2 => Ok(DisputeOutcome::Upheld),
        3 => Ok(DisputeOutcome::Rejected),
        4 => Ok(DisputeOutcome::Expired),
        other => Err(StoreError::corrupt("dispute outcome", other)),
    }
}
