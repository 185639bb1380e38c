//! One dispute as its parties and the resolver see it, and what a row of a list holds.

use std::sync::{Arc, LazyLock};

use agent_marketplace::state::DisputeOutcome;
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, PgExecutor};
use uuid::Uuid;

use super::numbers::dispute_outcome;
use crate::{
    convert::{amount_from_db, fixed_bytes, pubkey},
    error::StoreError,
};

/// A document about a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub hash: [u8; 32],
    pub uri: String,
    pub at: DateTime<Utc>,
}

/// A dispute, its execution and its parties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisputeDetails {
    pub address: Pubkey,
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub execution_id: Uuid,
    pub agent: Pubkey,
    /// The agent's address if none of its documents is known.
    pub agent_name: String,
    pub caller: Pubkey,
    pub creator: Pubkey,
    /// What was paid.
    pub amount: UsdcBase,
    pub evidence: Statement,
    /// `None` before the creator has answered.
    pub answer: Option<Statement>,
    pub outcome: DisputeOutcome,
    pub resolved_at: Option<DateTime<Utc>>,
    pub resolution_hash: Option<[u8; 32]>,
    pub slash: UsdcBase,
    /// What the caller got of the slash. The rest is the penalty.
    pub compensation: UsdcBase,
}

#[derive(sqlx::FromRow)]
pub(super) struct DisputeRow {
    pub address: String,
    pub record: String,
    pub execution_id: Uuid,
    pub agent: String,
    pub agent_name: Option<String>,
    pub caller: String,
    pub creator: String,
    pub amount: i64,
    pub evidence_hash: Vec<u8>,
    pub evidence_uri: String,
    pub raised_at: DateTime<Utc>,
    pub answer_hash: Option<Vec<u8>>,
    pub answer_uri: Option<String>,
    pub answered_at: Option<DateTime<Utc>>,
    pub outcome: i16,
    pub resolved_at: Option<DateTime<Utc>>,
    pub resolution_hash: Option<Vec<u8>>,
    pub slash_amount: i64,
    pub compensation: i64,
}

/// The columns of a [`DisputeRow`], from [`SOURCES`].
pub(super) const COLUMNS: &str = "d.address, d.execution AS record, e.execution_id, d.agent,
    COALESCE(a.name, (SELECT m.name FROM agent_metadata m WHERE m.agent = d.agent AND m.error IS NULL
                      ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)) AS agent_name,
    e.caller, COALESCE(d.creator, a.creator) AS creator, e.amount, d.evidence_hash, d.evidence_uri, d.raised_at,
    d.answer_hash, d.answer_uri, d.answered_at, d.outcome, d.resolved_at, d.resolution_hash, d.slash_amount,
    d.compensation";

/// The tables of [`COLUMNS`], joined to the addresses of `found`.
pub(super) const SOURCES: &str = "LEFT JOIN mirror_disputes d ON d.address = found.address
    LEFT JOIN mirror_executions e ON e.address = d.execution
    LEFT JOIN mirror_agents a ON a.address = d.agent";

/// One dispute: $1 is the wallet, $2 the address of the dispute or of its record.
static ONE: LazyLock<Arc<str>> = LazyLock::new(|| {
    Arc::from(format!(
        "SELECT {COLUMNS}
         FROM (SELECT address FROM mirror_disputes WHERE address = $2
               UNION SELECT address FROM mirror_disputes WHERE execution = $2) AS found {SOURCES}
         WHERE e.address IS NOT NULL AND a.address IS NOT NULL
           AND (e.caller = $1 OR a.creator = $1
                OR EXISTS (SELECT FROM mirror_config c WHERE c.resolver = $1 AND c.closed_at_slot IS NULL))"
    ))
});

impl TryFrom<DisputeRow> for DisputeDetails {
    type Error = StoreError;

    fn try_from(row: DisputeRow) -> Result<Self, StoreError> {
        let answer = match (row.answer_hash, row.answer_uri, row.answered_at) {
            (Some(hash), Some(uri), Some(at)) => Some(Statement { hash: fixed_bytes("answer hash", &hash)?, uri, at }),
            _ => None,
        };
        Ok(Self {
            address: pubkey("dispute address", &row.address)?,
            record: pubkey("record address", &row.record)?,
            execution_id: row.execution_id,
            agent: pubkey("agent address", &row.agent)?,
            agent_name: row.agent_name.unwrap_or(row.agent),
            caller: pubkey("caller", &row.caller)?,
            creator: pubkey("creator", &row.creator)?,
            amount: UsdcBase(amount_from_db("amount", row.amount)?),
            evidence: Statement {
                hash: fixed_bytes("evidence hash", &row.evidence_hash)?,
                uri: row.evidence_uri,
                at: row.raised_at,
            },
            answer,
            outcome: dispute_outcome(row.outcome)?,
            resolved_at: row.resolved_at,
            resolution_hash: row.resolution_hash.map(|hash| fixed_bytes("resolution hash", &hash)).transpose()?,
            slash: UsdcBase(amount_from_db("slash", row.slash_amount)?),
            compensation: UsdcBase(amount_from_db("compensation", row.compensation)?),
        })
    }
}

/// Whether the wallet is the resolver.
pub async fn is_resolver(executor: impl PgExecutor<'_>, wallet: &Pubkey) -> Result<bool, StoreError> {
    let is_resolver = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_config WHERE resolver = $1 AND closed_at_slot IS NULL) AS "resolver!""#,
        wallet.to_string(),
    )
    .fetch_one(executor)
    .await?;
    Ok(is_resolver)
}

/// One dispute, by its own address or by the address of its record, if the wallet is one of its parties or the
/// resolver.
pub async fn dispute(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    address: &Pubkey,
) -> Result<Option<DisputeDetails>, StoreError> {
    let row = sqlx::query_as::<_, DisputeRow>(AssertSqlSafe(Arc::clone(&ONE)))
        .bind(wallet.to_string())
        .bind(address.to_string())
        .fetch_optional(executor)
        .await?;
    row.map(DisputeDetails::try_from).transpose()
}
