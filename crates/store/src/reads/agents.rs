//! One agent as the marketplace shows it: active or paused, with a metadata document whose SHA-256 is the one on chain.
//! And why another listing is not shown.

use std::collections::HashMap;

use agent_marketplace::state::AgentStatus;
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;

use crate::{
    columns::{Base58, Count, Timestamp, Usdc, base_units},
    error::StoreError,
};

/// A listing that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, sqlx::Type, ToSchema)]
#[schema(as = OwnListingStatusName)]
#[serde(rename_all = "snake_case")]
#[repr(i16)]
pub enum ListingStatus {
    Active = AgentStatus::Active as i16,
    Paused = AgentStatus::Paused as i16,
    Delisted = AgentStatus::Delisted as i16,
}

// The status of a listing that is shown.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ListingStatusName {
    Active,
    Paused,
}

/// What answers show of a metadata document.
#[derive(Clone, Debug, Deserialize)]
pub struct ShownDocument {
    pub description: String,
    #[serde(deserialize_with = "compact")]
    pub input_schema: Box<RawValue>,
    #[serde(deserialize_with = "compact")]
    pub output_schema: Box<RawValue>,
}

/// PostgreSQL writes spaces between the members.
fn compact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    to_raw_value(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatorDetails {
    pub pubkey: String,
    pub verified: bool,
    /// Empty if the creator has set none.
    pub display_name: String,
    /// What the creator's closed agents counted: who closes an agent keeps its history.
    pub closed_agents: ClosedAgentsTotals,
}

/// Totals of agents whose listings are closed. The chain keeps them in the creator's profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClosedAgentsTotals {
    /// Closed agents.
    pub agents: u64,
    pub completed_executions: u64,
    pub successful_executions: u64,
    pub failed_executions: u64,
    pub expired_executions: u64,
    pub dispute_count: u64,
    /// Taken from their collateral.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub slashed_usdc: UsdcBase,
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub platform_fees_usdc: UsdcBase,
}

/// An agent with its document.
#[derive(Clone, Debug)]
pub struct AgentDetails {
    pub address: Pubkey,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    /// Whether results are signed for the call.
    pub binding: bool,
    pub price: UsdcBase,
    pub status: ListingStatus,
    pub creator: Json<CreatorDetails>,
    pub total_executions: u64,
    /// The platform fees that were paid for results that stand.
    pub trust: UsdcBase,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub successful_executions: u64,
    pub failed_executions: u64,
    /// Refunded executions that are no failure of the agent. `total_executions` does not count them.
    pub expired_executions: u64,
    pub dispute_count: u64,
    /// What the platform received of completed executions.
    pub platform_fees: UsdcBase,
    /// Wallets that paid at least one completed execution, as far as the mirror has seen them.
    pub unique_callers: u64,
    pub created_at: Timestamp,
    /// When the program changed the listing last.
    pub updated_at: DateTime<Utc>,
    pub collateral: UsdcBase,
    /// Of open executions.
    pub open_amount: UsdcBase,
    /// Of executions with an open dispute.
    pub disputed_amount: UsdcBase,
    pub timeout_seconds: i64,
    /// SHA-256 of the terms that a caller agrees to.
    pub terms_hash: [u8; 32],
    pub document: Json<ShownDocument>,
    pub version: AgentVersion,
}

/// Names the rows that [`AgentDetails`] are read from: another version of a row has another place in its table or was
/// written by another transaction.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(transparent)]
pub struct AgentVersion(String);

/// One agent, active or paused. `None` if it was delisted or closed, or has no checked document.
pub async fn agent(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<AgentDetails>, StoreError> {
    Ok(agents(executor, &[*address]).await?.pop())
}

/// Several agents in any order, active or paused, each once. Those that were delisted or closed, or have no checked
/// document, are missing.
pub async fn agents(executor: impl PgExecutor<'_>, wanted: &[Pubkey]) -> Result<Vec<AgentDetails>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let addresses: Vec<String> = wanted.iter().map(Pubkey::to_string).collect();
    let agents = sqlx::query_as!(
        AgentDetails,
        r#"SELECT a.address AS "address!: Base58", m.name AS "name!", m.tagline AS "tagline!", m.tags AS "tags!",
                  a.binding AS "binding!", a.price AS "price!: Usdc", a.status AS "status!: ListingStatus",
                  a.total_executions AS "total_executions!: Count", a.trust AS "trust!: Usdc",
                  a.success_rate AS "success_rate!", a.avg_execution_time_ms AS "avg_execution_time_ms!: Count",
                  a.successful_executions AS "successful_executions!: Count",
                  a.failed_executions AS "failed_executions!: Count",
                  a.expired_executions AS "expired_executions!: Count",
                  a.disputed_executions AS "dispute_count!: Count", a.platform_fees_total AS "platform_fees!: Usdc",
                  COALESCE(t.unique_callers, 0) AS "unique_callers!: Count",
                  jsonb_build_object(
                      'pubkey', a.creator, 'verified', COALESCE(c.verified, false),
                      'display_name', COALESCE(c.display_name, ''),
                      'closed_agents', jsonb_build_object(
                          'agents', COALESCE(c.closed_agents, 0),
                          'completed_executions', COALESCE(c.closed_completed_executions, 0),
                          'successful_executions', COALESCE(c.closed_successful_executions, 0),
                          'failed_executions', COALESCE(c.closed_failed_executions, 0),
                          'expired_executions', COALESCE(c.closed_expired_executions, 0),
                          'dispute_count', COALESCE(c.closed_disputed_executions, 0),
                          'slashed_usdc', COALESCE(c.closed_slashed_total, 0),
                          'platform_fees_usdc', COALESCE(c.closed_platform_fees_total, 0)))
                      AS "creator!: Json<CreatorDetails>",
                  a.created_at AS "created_at!: Timestamp", a.updated_at, a.collateral AS "collateral!: Usdc",
                  a.open_amount AS "open_amount!: Usdc", a.disputed_amount AS "disputed_amount!: Usdc",
                  a.timeout_seconds AS "timeout_seconds!", a.terms_hash AS "terms_hash!: [u8; 32]",
                  m.document AS "document!: Json<ShownDocument>",
                  format('%s %s|%s %s|%s %s|%s %s', a.ctid, a.xmin, m.ctid, m.xmin, c.ctid, c.xmin, t.ctid, t.xmin)
                      AS "version!: AgentVersion"
           FROM unnest($1::text[]) AS wanted (address)
           JOIN mirror_agents a ON a.address = wanted.address
               AND a.status IN (agent_status('active'), agent_status('paused')) AND a.closed_at_slot IS NULL
           JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           LEFT JOIN mirror_agent_totals t ON t.agent = a.address"#,
        &addresses,
    );
    Ok(agents.fetch_all(executor).await?)
}

/// The versions of agents that [`agents`] would return now, in any order, each once.
pub async fn agent_versions(
    executor: impl PgExecutor<'_>,
    wanted: &[Pubkey],
) -> Result<HashMap<Pubkey, AgentVersion>, StoreError> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let addresses: Vec<String> = wanted.iter().map(Pubkey::to_string).collect();
    let rows = sqlx::query!(
        r#"SELECT l.address AS "address!: Base58",
                  format('%s %s|%s %s|%s %s|%s %s', l.ctid, l.xmin, m.ctid, m.xmin, c.ctid, c.xmin, t.ctid, t.xmin)
                      AS "version!: AgentVersion"
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
    Ok(rows.into_iter().map(|row| (row.address.into(), row.version)).collect())
}

/// Executions that are added up, the newest first: an agent can have any number of them.
const MAX_DISPUTABLE: i64 = 100_000;

/// The amounts of an agent's completed executions that their callers can still dispute at `now`.
pub async fn disputable_amount(
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    now: DateTime<Utc>,
) -> Result<UsdcBase, StoreError> {
    let row = sqlx::query!(
        r#"SELECT LEAST(COALESCE(sum(amount), 0), 9223372036854775807)::bigint AS "sum!: Usdc"
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
    Ok(row.sum.into())
}

/// The names of some agents: of the document in force or, while that one is not known, of the newest known one. An agent
/// without any known document is left out.
pub async fn agent_names(
    executor: impl PgExecutor<'_>,
    agents: &[Pubkey],
) -> Result<HashMap<Pubkey, String>, StoreError> {
    let addresses: Vec<String> = agents.iter().map(Pubkey::to_string).collect();
    // `OFFSET 0` and `LIMIT 1`: found once for each agent, by an index.
    let rows = sqlx::query!(
        r#"SELECT q.agent AS "agent!: Base58",
                  COALESCE((SELECT a.name FROM mirror_agents a WHERE a.address = q.agent OFFSET 0), (
                      SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                      WHERE m.agent = q.agent AND m.error IS NULL
                      ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)) AS name
           FROM unnest($1::text[]) AS q (agent)"#,
        &addresses
    )
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.agent.into(), row.name?))).collect())
}

/// A listing, shown or not, and what is known about the document that it names.
#[derive(Clone, Debug)]
pub struct ListingState {
    pub status: ListingStatus,
    pub closed: bool,
    pub uri: String,
    pub sha256: [u8; 32],
    /// Fetched and checked.
    pub usable: bool,
    /// Why the last attempt failed, and one of the codes of `metadata::FailureKind`.
    pub error: Option<String>,
    pub error_code: Option<String>,
    /// Since the listing names this hash and URI.
    pub attempts: i32,
    pub last_attempt: Option<Timestamp>,
    pub next_attempt: Option<Timestamp>,
}

/// `None`: the mirror has no listing at this address.
pub async fn listing(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<Option<ListingState>, StoreError> {
    // A failure with another URI says nothing about this one.
    let listing = sqlx::query_as!(
        ListingState,
        r#"SELECT a.status AS "status!: ListingStatus", a.closed_at_slot IS NOT NULL AS "closed!", a.metadata_uri AS uri,
                  a.metadata_hash AS "sha256!: [u8; 32]", COALESCE(m.document IS NOT NULL, false) AS "usable!",
                  m.error AS "error?", m.error_code AS "error_code?", COALESCE(m.attempts, 0) AS "attempts!",
                  COALESCE(m.last_attempt, m.fetched_at) AS "last_attempt?: Timestamp",
                  m.next_attempt AS "next_attempt?: Timestamp"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
                                     AND (m.error IS NULL OR m.uri = a.metadata_uri)
           WHERE a.address = $1"#,
        address.to_string(),
    );
    Ok(listing.fetch_optional(executor).await?)
}

/// Whether the program has an account at this address whose bytes cannot be read.
pub async fn is_quarantined(executor: impl PgExecutor<'_>, address: &Pubkey) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_quarantine WHERE address = $1) AS "found!""#,
        address.to_string(),
    );
    Ok(found.fetch_one(executor).await?)
}
