//! One agent as the marketplace shows it: the view `shown_agents`. An agent is shown only with a metadata document whose
//! SHA-256 is the one on chain.

use std::collections::HashMap;

use agent_marketplace::state::{AgentStatus, ClosedAgents};
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    convert::{amount_from_db, fixed_bytes, pubkey},
    error::StoreError,
};

/// What lists show of an agent.
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
    /// When the program changed the listing last.
    pub updated_at: DateTime<Utc>,
    pub collateral: UsdcBase,
    /// Of open executions.
    pub open_amount: UsdcBase,
    /// Of executions with an open dispute.
    pub disputed_amount: UsdcBase,
    /// SHA-256 of the metadata document, which has been checked.
    pub document_hash: [u8; 32],
    pub version: AgentVersion,
    /// The metadata document. `None` if it was left out because it is known.
    pub document: Option<Value>,
    pub endpoint: String,
    pub result_key: Pubkey,
    pub timeout_seconds: u32,
    /// SHA-256 of the terms that a caller agrees to.
    pub terms_hash: [u8; 32],
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

/// Names the rows that [`AgentDetails`] are read from: another version of a row has another place in its table or was
/// written by another transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentVersion(String);

/// An agent to read, and the hash of its document if the reader has that document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAgent {
    pub address: Pubkey,
    pub document: Option<[u8; 32]>,
}

/// One agent, active or paused. `None` if it was delisted or closed, or has no checked document.
pub async fn agent(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<AgentDetails>, StoreError> {
    let wanted = KnownAgent { address: *address, document: None };
    Ok(agents(executor, &[wanted]).await?.pop())
}

/// Several agents in any order, active or paused, each once. Those that were delisted or closed, or have no checked
/// document, are missing.
pub async fn agents(executor: impl PgExecutor<'_>, wanted: &[KnownAgent]) -> Result<Vec<AgentDetails>, StoreError> {
    let addresses: Vec<String> = wanted.iter().map(|agent| agent.address.to_string()).collect();
    // No document has an empty hash.
    let documents: Vec<Vec<u8>> =
        wanted.iter().map(|agent| agent.document.map(|hash| hash.to_vec()).unwrap_or_default()).collect();
    let rows = sqlx::query_as!(
        DetailsRow,
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
                  CASE WHEN a.metadata_hash IS DISTINCT FROM wanted.document THEN m.document END AS "document?",
                  a.metadata_hash AS "document_hash!", m.endpoint AS "endpoint!", a.result_key AS "result_key!",
                  format('%s %s|%s %s|%s %s|%s %s', l.ctid, l.xmin, m.ctid, m.xmin, c.ctid, c.xmin, t.ctid, t.xmin)
                      AS "version!",
                  a.timeout_seconds AS "timeout_seconds!", l.collateral, l.open_amount, l.disputed_amount, l.updated_at
           FROM unnest($1::text[], $2::bytea[]) AS wanted (address, document)
           JOIN shown_agents a ON a.address = wanted.address
           JOIN mirror_agents l ON l.address = a.address
           JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           LEFT JOIN mirror_agent_totals t ON t.agent = a.address"#,
        &addresses,
        &documents,
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(AgentDetails::try_from).collect()
}

/// The versions of agents that [`agents`] would return now, in any order, each once.
pub async fn agent_versions(
    executor: impl PgExecutor<'_>,
    wanted: &[Pubkey],
) -> Result<HashMap<Pubkey, AgentVersion>, StoreError> {
    let addresses: Vec<String> = wanted.iter().map(Pubkey::to_string).collect();
    let rows = sqlx::query!(
        r#"SELECT l.address AS "address!",
                  format('%s %s|%s %s|%s %s|%s %s', l.ctid, l.xmin, m.ctid, m.xmin, c.ctid, c.xmin, t.ctid, t.xmin)
                      AS "version!"
           FROM unnest($1::text[]) AS wanted (address)
           JOIN mirror_agents l ON l.address = wanted.address
               AND l.status IN (agent_status('active'), agent_status('paused')) AND l.closed_at_slot IS NULL
           JOIN agent_metadata m ON m.agent = l.address AND m.sha256 = l.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = l.creator AND c.closed_at_slot IS NULL
           LEFT JOIN mirror_agent_totals t ON t.agent = l.address"#,
        &addresses,
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter().map(|row| Ok((pubkey("agent address", &row.address)?, AgentVersion(row.version)))).collect()
}

struct DetailsRow {
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
    display_name: Option<String>,
    closed_agents: i64,
    closed_completed_executions: i64,
    closed_successful_executions: i64,
    closed_failed_executions: i64,
    closed_expired_executions: i64,
    closed_disputed_executions: i64,
    closed_slashed_total: i64,
    closed_platform_fees_total: i64,
    successful_executions: i64,
    failed_executions: i64,
    expired_executions: i64,
    disputed_executions: i64,
    platform_fees_total: i64,
    unique_callers: i64,
    terms_hash: Vec<u8>,
    created_at: DateTime<Utc>,
    document: Option<Value>,
    document_hash: Vec<u8>,
    version: String,
    endpoint: String,
    result_key: String,
    timeout_seconds: i64,
    collateral: i64,
    open_amount: i64,
    disputed_amount: i64,
    updated_at: DateTime<Utc>,
}

impl TryFrom<DetailsRow> for AgentDetails {
    type Error = StoreError;

    fn try_from(row: DetailsRow) -> Result<Self, StoreError> {
        let closed = |total| amount_from_db("total of closed agents", total);
        Ok(Self {
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
            updated_at: row.updated_at,
            collateral: UsdcBase(amount_from_db("collateral", row.collateral)?),
            open_amount: UsdcBase(amount_from_db("open amount", row.open_amount)?),
            disputed_amount: UsdcBase(amount_from_db("disputed amount", row.disputed_amount)?),
            document_hash: fixed_bytes("metadata hash", &row.document_hash)?,
            version: AgentVersion(row.version),
            document: row.document,
            endpoint: row.endpoint,
            result_key: pubkey("result key", &row.result_key)?,
            timeout_seconds: u32::try_from(row.timeout_seconds)
                .map_err(|_| StoreError::corrupt("timeout", row.timeout_seconds))?,
            terms_hash: fixed_bytes("terms hash", &row.terms_hash)?,
            summary: ListedAgent {
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
            },
        })
    }
}

/// Executions that are added up, the newest first: an agent can have any number of them.
const MAX_DISPUTABLE: i64 = 100_000;

/// The amounts of an agent's completed executions that their callers can still dispute at `now`.
pub async fn disputable_amount(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    now: DateTime<Utc>,
) -> Result<UsdcBase, StoreError> {
    let sum = sqlx::query_scalar!(
        r#"SELECT LEAST(COALESCE(sum(amount), 0), 9223372036854775807)::bigint AS "sum!"
           FROM (SELECT amount FROM mirror_executions
                 WHERE agent = $1 AND closed_at_slot IS NULL AND status = record_status('completed')
                     AND finished_at + make_interval(secs => dispute_window_s) > $2
                 ORDER BY finished_at DESC LIMIT $3) AS disputable"#,
        agent.to_string(),
        now,
        MAX_DISPUTABLE,
    )
    .fetch_one(executor)
    .await?;
    Ok(UsdcBase(amount_from_db("disputable amount", sum)?))
}
