//! One agent as the marketplace shows it: active or paused, with a metadata document whose SHA-256 is the one on chain.

use std::collections::HashMap;

use agent_marketplace::state::AgentStatus;
use chrono::{DateTime, Utc};
use crtx_protocol::{
    result_hash::ResultHash,
    terms::{MarketTerms, Terms},
    usdc::UsdcBase,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;

use super::days::{AgentMetrics, METRICS_DAYS, share};
use crate::{
    Result,
    columns::{Base58, Count, Timestamp, Usdc, base_units},
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

/// A JSON value that is answered as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredValue(#[serde(deserialize_with = "compact")] Box<RawValue>);

/// PostgreSQL writes spaces between the members.
fn compact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    to_raw_value(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatorDetails {
    pub pubkey: String,
    pub verified: bool,
    /// Whether the name looks like the name of another creator, who is verified. The characters can be others.
    pub resembles_verified: bool,
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
    /// Failures that the gateway alone reported. They count in no rate.
    pub unproved_failures: u64,
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

/// A full listing.
// What the API adds is empty in what this module reads: `metrics` and `on_chain_listing`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AgentResponse)]
pub struct AgentDetails {
    #[serde(skip)]
    pub address: Pubkey,
    pub agent_id: String,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    /// Whether each result is signed for its call, so that no signature settles another call.
    pub binding: bool,
    /// The free collateral that the creator promises, in prices of a call. The program holds it to that when it lists,
    /// changes or resumes the agent, and an opening can ask for it.
    #[schema(value_type = u32)]
    pub min_cover: i16,
    #[schema(value_type = f64)]
    pub price_per_call_usdc: UsdcBase,
    /// SHA-256 of price, time-out, binding, cover, result key and metadata hash, and of the market's fee, dispute window,
    /// grace and limit of penalties: an opening can name it, and is refused if the terms have changed.
    #[schema(value_type = String)]
    pub terms_hash: TermsHash,
    /// Seconds that the creator's service has to answer.
    #[schema(value_type = u32)]
    pub timeout_seconds: i64,
    pub total_executions: u64,
    /// The platform fees that were paid for results that stand: of one call at most 0.10 USDC, of one wallet at most 1
    /// USDC, and nothing of the wallets of admin, treasury and insurance. As far as this index has seen them.
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    #[schema(value_type = CreatorDetails)]
    pub creator: Json<CreatorDetails>,
    #[schema(value_type = ListingStatusName)]
    pub status: ListingStatus,
    /// Whether the marketplace has stopped new calls of this agent; its status is `paused` then. The admin resumes it.
    pub suspended: bool,
    pub description: String,
    /// JSON Schema of accepted `parameters`.
    #[schema(value_type = Object)]
    pub input_schema: Json<StoredValue>,
    /// JSON Schema of the result structure.
    #[schema(value_type = Object)]
    pub output_schema: Json<StoredValue>,
    /// Completed executions without an upheld dispute.
    pub successful_executions: u64,
    /// Executions that failed by the agent: the creator reported or signed it, or the time-out had passed on chain.
    pub failed_executions: u64,
    /// Refunded executions that the gateway alone reported as failed by the agent. They count in no rate.
    pub unproved_failures: u64,
    /// Refunded executions that are no failure of the agent: expired, or given up by the gateway.
    pub expired_executions: u64,
    /// Disputes ever raised; those of one wallet beyond the tenth count as one. As far as this index has seen them.
    pub dispute_count: u64,
    /// What the platform received of completed executions.
    #[schema(value_type = f64)]
    pub platform_fees_usdc: UsdcBase,
    /// Wallets that paid a completed execution, as far as this index has seen them.
    pub unique_callers: u64,
    /// Wallets with an upheld dispute, of these.
    #[serde(skip)]
    pub upheld_wallets: u64,
    #[schema(required, value_type = AgentMetrics)]
    pub metrics: Option<Json<AgentMetrics>>,
    /// The listing account on the chain explorer.
    pub on_chain_listing: String,
    pub created_at: Timestamp,
    /// When the program changed the listing last.
    #[serde(skip)]
    pub updated_at: DateTime<Utc>,
    #[serde(skip)]
    pub collateral: UsdcBase,
    /// Of open executions.
    #[serde(skip)]
    pub open_amount: UsdcBase,
    /// Of executions with an open dispute.
    #[serde(skip)]
    pub disputed_amount: UsdcBase,
    #[serde(skip)]
    pub version: AgentVersion,
}

impl AgentDetails {
    /// Metrics with what the listing knows.
    #[must_use]
    pub fn add_to(&self, metrics: AgentMetrics) -> AgentMetrics {
        let free = self.collateral.0.saturating_sub(self.disputed_amount.0);
        let at_risk = self.open_amount.0.saturating_add(metrics.amount_at_risk_usdc.0);
        AgentMetrics {
            window_days: METRICS_DAYS.unsigned_abs(),
            unique_paying_wallets: self.unique_callers,
            wallets_with_upheld_disputes: self.upheld_wallets,
            fees_paid_usdc: self.platform_fees_usdc,
            free_collateral_usdc: UsdcBase(free),
            amount_at_risk_usdc: UsdcBase(at_risk),
            collateral_cover: share(free, self.price_per_call_usdc.0),
            ..metrics
        }
    }
}

/// What the terms hash is made of. It is written as the hash.
#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(transparent)]
pub struct TermsHash(Json<StoredTerms>);

#[derive(Clone, Debug, Deserialize)]
struct StoredTerms {
    price: u64,
    timeout_seconds: u32,
    binding: bool,
    min_cover: u8,
    result_key: String,
    metadata_hash: String,
    fee_bps: u32,
    max_penalty_multiple: u32,
    dispute_window_s: i64,
    settle_grace_s: i64,
}

impl TermsHash {
    /// `None`: the stored texts are no key and no hash.
    pub fn hash(&self) -> Option<ResultHash> {
        let stored = &self.0.0;
        let terms = Terms {
            price: stored.price,
            timeout_seconds: stored.timeout_seconds,
            binding: stored.binding,
            min_cover: stored.min_cover,
            result_key: stored.result_key.parse::<Pubkey>().ok()?.to_bytes(),
            metadata_hash: hex::decode(&stored.metadata_hash).ok()?.try_into().ok()?,
            market: MarketTerms {
                fee_bps: stored.fee_bps,
                max_penalty_multiple: stored.max_penalty_multiple,
                dispute_window_s: stored.dispute_window_s,
                settle_grace_s: stored.settle_grace_s,
            },
        };
        Some(ResultHash::of(&terms.bytes()))
    }
}

impl Serialize for TermsHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let hash = self.hash().ok_or_else(|| S::Error::custom("the stored terms of a listing are damaged"))?;
        serializer.collect_str(&hash)
    }
}

/// Names the rows that [`AgentDetails`] are read from: another version of a row has another place in its table or was
/// written by another transaction.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(transparent)]
pub struct AgentVersion(String);

/// Several agents in any order, active or paused, each once. Those that were delisted or closed, or have no checked
/// document, are missing.
pub async fn agents(db: impl PgExecutor<'_>, wanted: &[Pubkey]) -> Result<Vec<AgentDetails>> {
    let addresses: Vec<String> = wanted.iter().map(Pubkey::to_string).collect();
    let agents = sqlx::query_as!(
        AgentDetails,
        r#"SELECT a.address AS "address!: Base58", a.address AS "agent_id!", m.name AS "name!", m.tagline AS "tagline!",
                  m.tags AS "tags!", a.binding AS "binding!", a.min_cover AS "min_cover!",
                  a.price AS "price_per_call_usdc!: Usdc",
                  a.status AS "status!: ListingStatus", a.suspended AS "suspended!",
                  a.total_executions AS "total_executions!: Count", COALESCE(agent_trust(a.address), 0) AS "trust_usdc!: Usdc",
                  a.success_rate AS "success_rate!", a.avg_execution_time_ms AS "avg_execution_time_ms!: Count",
                  a.successful_executions AS "successful_executions!: Count",
                  a.failed_executions AS "failed_executions!: Count",
                  a.unproved_failures AS "unproved_failures!: Count",
                  a.expired_executions AS "expired_executions!: Count",
                  COALESCE(t.disputes, 0) AS "dispute_count!: Count", a.platform_fees_total AS "platform_fees_usdc!: Usdc",
                  COALESCE(t.unique_callers, 0) AS "unique_callers!: Count",
                  COALESCE(t.upheld_wallets, 0) AS "upheld_wallets!: Count",
                  jsonb_build_object(
                      'pubkey', a.creator, 'verified', COALESCE(c.verified, false),
                      'display_name', COALESCE(c.display_name, ''), 'resembles_verified', COALESCE(r.verified, false),
                      'closed_agents', jsonb_build_object(
                          'agents', COALESCE(c.closed_agents, 0),
                          'completed_executions', COALESCE(c.closed_completed_executions, 0),
                          'successful_executions', COALESCE(c.closed_successful_executions, 0),
                          'failed_executions', COALESCE(c.closed_failed_executions, 0),
                          'unproved_failures', COALESCE(c.closed_unproved_failures, 0),
                          'expired_executions', COALESCE(c.closed_expired_executions, 0),
                          'dispute_count', COALESCE(c.closed_disputed_executions, 0),
                          'slashed_usdc', COALESCE(c.closed_slashed_total, 0),
                          'platform_fees_usdc', COALESCE(c.closed_platform_fees_total, 0)))
                      AS "creator!: Json<CreatorDetails>",
                  a.created_at AS "created_at!: Timestamp", a.updated_at, a.collateral AS "collateral!: Usdc",
                  a.open_amount AS "open_amount!: Usdc", a.disputed_amount AS "disputed_amount!: Usdc",
                  a.timeout_seconds AS "timeout_seconds!",
                  jsonb_build_object(
                      'price', a.price, 'timeout_seconds', a.timeout_seconds, 'binding', a.binding,
                      'min_cover', a.min_cover, 'result_key', a.result_key,
                      'metadata_hash', encode(a.metadata_hash, 'hex'), 'fee_bps', COALESCE(g.fee_bps, 0),
                      'max_penalty_multiple', COALESCE(g.max_penalty_multiple, 0),
                      'dispute_window_s', COALESCE(g.dispute_window_s, 0),
                      'settle_grace_s', COALESCE(g.settle_grace_s, 0)) AS "terms_hash!: TermsHash",
                  m.document ->> 'description' AS "description!",
                  m.document -> 'input_schema' AS "input_schema!: Json<StoredValue>",
                  m.document -> 'output_schema' AS "output_schema!: Json<StoredValue>",
                  NULL::jsonb AS "metrics: Json<AgentMetrics>", '' AS "on_chain_listing!",
                  format('%s %s|%s %s|%s %s|%s %s|%s %s|%s', a.ctid, a.xmin, m.ctid, m.xmin, c.ctid, c.xmin, t.ctid,
                         t.xmin, g.ctid, g.xmin, r.verified)
                      AS "version!: AgentVersion"
           FROM unnest($1::text[]) AS wanted (address)
           JOIN mirror_agents a ON a.address = wanted.address
               AND a.status IN (agent_status('active'), agent_status('paused')) AND a.closed_at_slot IS NULL
           JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = a.creator AND c.closed_at_slot IS NULL
           LEFT JOIN mirror_agent_totals t ON t.agent = a.address
           LEFT JOIN mirror_config g ON g.closed_at_slot IS NULL
           LEFT JOIN LATERAL (SELECT true AS verified WHERE resembles_verified(c.wallet)) r ON true"#,
        &addresses,
    );
    Ok(agents.fetch_all(db).await?)
}

/// The versions of agents that [`agents`] would return now, in any order, each once.
pub async fn agent_versions(db: impl PgExecutor<'_>, wanted: &[Pubkey]) -> Result<HashMap<Pubkey, AgentVersion>> {
    let addresses: Vec<String> = wanted.iter().map(Pubkey::to_string).collect();
    let rows = sqlx::query!(
        r#"SELECT l.address AS "address!: Base58",
                  format('%s %s|%s %s|%s %s|%s %s|%s %s|%s', l.ctid, l.xmin, m.ctid, m.xmin, c.ctid, c.xmin, t.ctid,
                         t.xmin, g.ctid, g.xmin, r.verified)
                      AS "version!: AgentVersion"
           FROM unnest($1::text[]) AS wanted (address)
           JOIN mirror_agents l ON l.address = wanted.address
               AND l.status IN (agent_status('active'), agent_status('paused')) AND l.closed_at_slot IS NULL
           JOIN agent_metadata m ON m.agent = l.address AND m.sha256 = l.metadata_hash AND m.error IS NULL
           LEFT JOIN mirror_creators c ON c.wallet = l.creator AND c.closed_at_slot IS NULL
           LEFT JOIN mirror_agent_totals t ON t.agent = l.address
           LEFT JOIN mirror_config g ON g.closed_at_slot IS NULL
           LEFT JOIN LATERAL (SELECT true AS verified WHERE resembles_verified(c.wallet)) r ON true"#,
        &addresses,
    );
    Ok(rows.fetch_all(db).await?.into_iter().map(|row| (row.address.into(), row.version)).collect())
}

/// The names of some agents: of the document in force or, while that one is not known, of the newest known one. An agent
/// without any known document is left out.
pub async fn agent_names(db: impl PgExecutor<'_>, agents: &[Pubkey]) -> Result<HashMap<Pubkey, String>> {
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
    );
    Ok(rows.fetch_all(db).await?.into_iter().filter_map(|row| Some((row.agent.into(), row.name?))).collect())
}
