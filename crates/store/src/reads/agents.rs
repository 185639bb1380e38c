//! Agents as the marketplace shows them: the views `listed_agents` and `shown_agents`. An agent is shown only with a
//! metadata document whose SHA-256 is the one on chain.

use agent_marketplace::state::{AgentStatus, ClosedAgents};
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use super::page::Page;
use crate::{
    convert::{amount_from_db, fixed_bytes, pubkey},
    error::StoreError,
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
    /// Most trust first: [`ListedAgent::trust`].
    Trust,
}

/// Which agents to list. The default is all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentFilter {
    /// Agents that have all of these tags.
    pub tags: Vec<String>,
    /// 0 to 1.
    pub min_success_rate: f64,
    pub min_executions: u64,
    /// Only agents of creators whose identity has been verified.
    pub verified_only: bool,
}

/// An agent in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedAgent {
    pub address: Pubkey,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    /// Whether results are signed for the call.
    pub binding: bool,
    pub price: UsdcBase,
    pub total_executions: u64,
    /// The platform fees that were paid for results that stand.
    pub trust: UsdcBase,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub creator: Pubkey,
    pub creator_verified: bool,
    pub status: ListingStatus,
}

/// Delisted agents are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingStatus {
    Active,
    Paused,
}

/// An agent with its document.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDetails {
    pub summary: ListedAgent,
    /// `None` if the creator has set none.
    pub creator_display_name: Option<String>,
    /// What the creator's closed agents counted.
    pub closed: ClosedAgents,
    pub successful_executions: u64,
    pub failed_executions: u64,
    /// Refunded executions that are no failure of the agent. `total_executions` does not count them.
    pub expired_executions: u64,
    pub dispute_count: u64,
    /// What the platform received of completed executions.
    pub platform_fees: UsdcBase,
    /// Wallets that paid at least one completed execution, as far as the mirror has seen them.
    pub unique_callers: u64,
    pub created_at: DateTime<Utc>,
    /// The metadata document; its SHA-256 has been checked.
    pub document: Value,
    pub endpoint: String,
    pub result_key: Pubkey,
    pub timeout_seconds: u32,
    /// SHA-256 of the terms that a caller agrees to.
    pub terms_hash: [u8; 32],
}

/// A row of a list.
struct AgentRow {
    address: String,
    name: String,
    tagline: String,
    tags: Vec<String>,
    binding: bool,
    price: i64,
    total_executions: i64,
    trust: i64,
    success_rate: f64,
    avg_execution_time_ms: i64,
    creator: String,
    verified: bool,
    status: i16,
}

impl TryFrom<AgentRow> for ListedAgent {
    type Error = StoreError;

    fn try_from(row: AgentRow) -> Result<Self, StoreError> {
        Ok(Self {
            address: pubkey("agent address", &row.address)?,
            name: row.name,
            tagline: row.tagline,
            tags: row.tags,
            binding: row.binding,
            price: UsdcBase(amount_from_db("price", row.price)?),
            total_executions: amount_from_db("total executions", row.total_executions)?,
            trust: UsdcBase(amount_from_db("trust", row.trust)?),
            success_rate: row.success_rate,
            avg_execution_time_ms: amount_from_db("mean execution time", row.avg_execution_time_ms)?,
            creator: pubkey("creator", &row.creator)?,
            creator_verified: row.verified,
            status: shown_status(row.status)?,
        })
    }
}

fn shown_status(number: i16) -> Result<ListingStatus, StoreError> {
    let is = |status: AgentStatus| number == i16::from(status as u8);
    if is(AgentStatus::Active) {
        Ok(ListingStatus::Active)
    } else if is(AgentStatus::Paused) {
        Ok(ListingStatus::Paused)
    } else {
        Err(StoreError::corrupt("listing status", number))
    }
}

/// How many listed agents pass the filter. The exact count is the larger part of the cost of a list.
pub async fn count_agents(executor: impl PgExecutor<'_>, filter: &AgentFilter) -> Result<u64, StoreError> {
    let min_executions = i64::try_from(filter.min_executions).unwrap_or(i64::MAX);
    let total = sqlx::query_scalar!(
        r#"SELECT count(*) AS "total!"
           FROM listed_agents a
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           WHERE ($1::text[] = '{}' OR a.tags @> $1)
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

/// One page of the listed agents that pass the filter.
pub async fn list_agents(
    executor: impl PgExecutor<'_>,
    filter: &AgentFilter,
    sort: AgentSort,
    page: Page,
) -> Result<Vec<ListedAgent>, StoreError> {
    let min_executions = i64::try_from(filter.min_executions).unwrap_or(i64::MAX);
    let (limit, offset) = page.to_db()?;
    macro_rules! page_ordered_by {
        ($order:tt) => {
            sqlx::query_as!(
                AgentRow,
                r#"SELECT a.address AS "address!", a.name AS "name!", a.tagline AS "tagline!", a.tags AS "tags!",
                          a.binding AS "binding!", a.price AS "price!", a.total_executions AS "total_executions!",
                          a.trust AS "trust!", a.success_rate AS "success_rate!", a.avg_execution_time_ms AS "avg_execution_time_ms!",
                          a.creator AS "creator!", COALESCE(c.verified, false) AS "verified!", a.status AS "status!"
                   FROM listed_agents a
                   LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
                   WHERE ($1::text[] = '{}' OR a.tags @> $1)
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
        AgentSort::Trust => page_ordered_by!("a.trust DESC, a.address"),
    };
    rows.into_iter().map(ListedAgent::try_from).collect()
}

/// One agent, active or paused. `None` if it was delisted or closed, or has no checked document.
pub async fn agent(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<AgentDetails>, StoreError> {
    let Some(row) = sqlx::query!(
        r#"SELECT a.address AS "address!", m.name AS "name!", m.tagline AS "tagline!", m.tags AS "tags!",
                  a.binding AS "binding!", a.price AS "price!", a.total_executions AS "total_executions!",
                  a.trust AS "trust!", a.success_rate AS "success_rate!",
                  a.avg_execution_time_ms AS "avg_execution_time_ms!", a.creator AS "creator!",
                  COALESCE(c.verified, false) AS "verified!", a.status AS "status!",
                  c.display_name AS "display_name?", COALESCE(c.closed_agents, 0) AS "closed_agents!",
                  COALESCE(c.closed_completed_executions, 0) AS "closed_completed_executions!",
                  COALESCE(c.closed_successful_executions, 0) AS "closed_successful_executions!",
                  COALESCE(c.closed_failed_executions, 0) AS "closed_failed_executions!",
                  COALESCE(c.closed_expired_executions, 0) AS "closed_expired_executions!",
                  COALESCE(c.closed_disputed_executions, 0) AS "closed_disputed_executions!",
                  COALESCE(c.closed_slashed_total, 0) AS "closed_slashed_total!",
                  COALESCE(c.closed_platform_fees_total, 0) AS "closed_platform_fees_total!",
                  a.successful_executions AS "successful_executions!",
                  a.failed_executions AS "failed_executions!", a.expired_executions AS "expired_executions!",
                  a.disputed_executions AS "disputed_executions!", a.platform_fees_total AS "platform_fees_total!",
                  a.unique_callers AS "unique_callers!", a.terms_hash AS "terms_hash!", a.created_at AS "created_at!",
                  m.document AS "document!", m.endpoint AS "endpoint!", a.result_key AS "result_key!",
                  a.timeout_seconds AS "timeout_seconds!"
           FROM shown_agents a
           JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           WHERE a.address = $1"#,
        address.to_string(),
    )
    .fetch_optional(executor)
    .await?
    else {
        return Ok(None);
    };
    let closed = |total| amount_from_db("total of closed agents", total);
    Ok(Some(AgentDetails {
        closed: ClosedAgents {
            agents: closed(row.closed_agents)?,
            completed_executions: closed(row.closed_completed_executions)?,
            successful_executions: closed(row.closed_successful_executions)?,
            failed_executions: closed(row.closed_failed_executions)?,
            expired_executions: closed(row.closed_expired_executions)?,
            disputed_executions: closed(row.closed_disputed_executions)?,
            slashed_total: closed(row.closed_slashed_total)?,
            platform_fees_total: closed(row.closed_platform_fees_total)?,
        },
        creator_display_name: row.display_name.filter(|name| !name.is_empty()),
        successful_executions: amount_from_db("successful executions", row.successful_executions)?,
        failed_executions: amount_from_db("failed executions", row.failed_executions)?,
        expired_executions: amount_from_db("expired executions", row.expired_executions)?,
        dispute_count: amount_from_db("dispute count", row.disputed_executions)?,
        platform_fees: UsdcBase(amount_from_db("platform fees", row.platform_fees_total)?),
        unique_callers: amount_from_db("unique callers", row.unique_callers)?,
        created_at: row.created_at,
        document: row.document,
        endpoint: row.endpoint,
        result_key: pubkey("result key", &row.result_key)?,
        timeout_seconds: u32::try_from(row.timeout_seconds)
            .map_err(|_| StoreError::corrupt("timeout", row.timeout_seconds))?,
        terms_hash: fixed_bytes("terms hash", &row.terms_hash)?,
        summary: AgentRow {
            address: row.address,
            name: row.name,
            tagline: row.tagline,
            tags: row.tags,
            binding: row.binding,
            price: row.price,
            total_executions: row.total_executions,
            trust: row.trust,
            success_rate: row.success_rate,
            avg_execution_time_ms: row.avg_execution_time_ms,
            creator: row.creator,
            verified: row.verified,
            status: row.status,
        }
        .try_into()?,
    }))
}
