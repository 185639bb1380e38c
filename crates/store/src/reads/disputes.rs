//! Disputes as their parties and the resolver see them.

use agent_marketplace::state::DisputeOutcome;
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{numbers::dispute_outcome, page::Page};
use crate::{
    convert::{amount_from_db, fixed_bytes, pubkey},
    error::StoreError,
};

/// What a wallet is in the disputes to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisputeRole {
    Caller,
    Creator,
    /// Sees all disputes, if it is the resolver.
    Resolver,
}

/// Which disputes to list. The default is all that the wallet may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DisputeFilter {
    pub role: Option<DisputeRole>,
    pub outcome: Option<DisputeOutcome>,
}

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

struct DisputeRow {
    address: String,
    record: String,
    execution_id: Uuid,
    agent: String,
    agent_name: Option<String>,
    caller: String,
    creator: String,
    amount: i64,
    evidence_hash: Vec<u8>,
    evidence_uri: String,
    raised_at: DateTime<Utc>,
    answer_hash: Option<Vec<u8>>,
    answer_uri: Option<String>,
    answered_at: Option<DateTime<Utc>>,
    outcome: i16,
    resolved_at: Option<DateTime<Utc>>,
    resolution_hash: Option<Vec<u8>>,
    slash_amount: i64,
    compensation: i64,
}

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

/// Calls a macro with the SQL of the columns of a dispute, and of its tables.
macro_rules! with_columns {
    ($query:ident) => {
        $query!(
            r#"d.address AS "address!", d.execution AS "record!", e.execution_id AS "execution_id!", d.agent AS "agent!",
               (SELECT m.name FROM agent_metadata m
                WHERE m.agent = d.agent AND m.error IS NULL
                ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1) AS "agent_name?",
               e.caller AS "caller!", a.creator AS "creator!", e.amount AS "amount!",
               d.evidence_hash AS "evidence_hash!", d.evidence_uri AS "evidence_uri!", d.raised_at AS "raised_at!",
               d.answer_hash, d.answer_uri, d.answered_at, d.outcome AS "outcome!", d.resolved_at, d.resolution_hash,
               d.slash_amount AS "slash_amount!", d.compensation AS "compensation!""#,
            "mirror_disputes d
             JOIN mirror_executions e ON e.address = d.execution
             JOIN mirror_agents a ON a.address = d.agent"
        )
    };
}

/// Calls a macro with the SQL that selects one wallet's disputes, behind what is given. $1 is the wallet, $2 whether those
/// count that it raised, $3 those about its agents, $4 the outcome.
macro_rules! of_parties {
    ($query:ident $(, $before:tt)*) => {
        $query!(
            $($before,)*
            "(SELECT o.address, o.raised_at, o.resolved_at FROM mirror_disputes o
              WHERE $2 AND o.raised_by = $1 AND ($4::smallint IS NULL OR o.outcome = $4)
              UNION ALL
              SELECT o.address, o.raised_at, o.resolved_at
              FROM mirror_agents w JOIN mirror_disputes o ON o.agent = w.address
              WHERE $3 AND w.creator = $1 AND NOT ($2 AND o.raised_by = $1) AND ($4::smallint IS NULL OR o.outcome = $4)) AS mine"
        )
    };
}

impl DisputeFilter {
    /// Whether disputes count that the wallet raised, and disputes about its agents.
    fn parties(self) -> (bool, bool) {
        (matches!(self.role, None | Some(DisputeRole::Caller)), matches!(self.role, None | Some(DisputeRole::Creator)))
    }

    fn outcome_to_db(self) -> Option<i16> {
        self.outcome.map(|outcome| i16::from(outcome as u8))
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

/// How many disputes of a party pass the filter.
pub async fn count_disputes(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    filter: DisputeFilter,
) -> Result<u64, StoreError> {
    let (raised, received) = filter.parties();
    macro_rules! count {
        ($mine:tt) => {
            sqlx::query_scalar!(
                "SELECT count(*) AS \"total!\" FROM " + $mine,
                wallet.to_string(),
                raised,
                received,
                filter.outcome_to_db(),
            )
        };
    }
    amount_from_db("count", of_parties!(count).fetch_one(executor).await?)
}

/// How many disputes there are with this outcome.
pub async fn count_all_disputes(
    executor: impl PgExecutor<'_>,
    outcome: Option<DisputeOutcome>,
) -> Result<u64, StoreError> {
    let total = sqlx::query_scalar!(
        r#"SELECT count(*) AS "total!" FROM mirror_disputes d WHERE $1::smallint IS NULL OR d.outcome = $1"#,
        outcome.map(|outcome| i16::from(outcome as u8)),
    )
    .fetch_one(executor)
    .await?;
    amount_from_db("count", total)
}

/// One page of the disputes of a party: the open ones first, those that were raised first at the top; then the others,
/// newest first.
pub async fn list_disputes(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    filter: DisputeFilter,
    page: Page,
) -> Result<Vec<DisputeDetails>, StoreError> {
    let (limit, offset) = page.to_db()?;
    let (raised, received) = filter.parties();
    macro_rules! page_of {
        ($columns:tt, $tables:tt, $mine:tt) => {
            sqlx::query_as!(
                DisputeRow,
                "WITH page AS (
                             SELECT address, resolved_at IS NOT NULL AS place,
                                    CASE WHEN resolved_at IS NULL THEN 1 ELSE -1 END * extract(epoch FROM raised_at)
                                        AS at
                             FROM "
                    + $mine
                    + " ORDER BY place, at, address LIMIT $5 OFFSET $6)
                         SELECT "
                    + $columns
                    + " FROM page p JOIN "
                    + $tables
                    + " ON d.address = p.address
                         ORDER BY p.place, p.at, p.address",
                wallet.to_string(),
                raised,
                received,
                filter.outcome_to_db(),
                limit,
                offset,
            )
        };
    }
    macro_rules! page_of_parties {
        ($columns:tt, $tables:tt) => {
            of_parties!(page_of, $columns, $tables)
        };
    }
    with_columns!(page_of_parties).fetch_all(executor).await?.into_iter().map(DisputeDetails::try_from).collect()
}

/// One page of all disputes, in the order of [`list_disputes`].
pub async fn list_all_disputes(
    executor: impl PgExecutor<'_>,
    outcome: Option<DisputeOutcome>,
    page: Page,
) -> Result<Vec<DisputeDetails>, StoreError> {
    let (limit, offset) = page.to_db()?;
    macro_rules! page_of {
        ($columns:tt, $tables:tt) => {
            sqlx::query_as!(
                DisputeRow,
                "WITH page AS (
                     SELECT address, place, at FROM (
                         (SELECT address, 1 AS place, extract(epoch FROM raised_at) AS at
                          FROM mirror_disputes
                          WHERE resolved_at IS NULL AND ($1::smallint IS NULL OR outcome = $1)
                          ORDER BY raised_at, address LIMIT $2::bigint + $3::bigint)
                         UNION ALL
                         (SELECT address, 2, -extract(epoch FROM raised_at)
                          FROM mirror_disputes
                          WHERE resolved_at IS NOT NULL AND ($1::smallint IS NULL OR outcome = $1)
                          ORDER BY raised_at DESC, address LIMIT $2::bigint + $3::bigint)) AS ordered
                     ORDER BY place, at, address LIMIT $2 OFFSET $3)
                 SELECT "
                    + $columns
                    + " FROM page p JOIN "
                    + $tables
                    + " ON d.address = p.address
                 ORDER BY p.place, p.at, p.address",
                outcome.map(|outcome| i16::from(outcome as u8)),
                limit,
                offset,
            )
        };
    }
    with_columns!(page_of).fetch_all(executor).await?.into_iter().map(DisputeDetails::try_from).collect()
}

/// One dispute, by its own address or by the address of its record, if the wallet is one of its parties or the
/// resolver.
pub async fn dispute(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    address: &Pubkey,
) -> Result<Option<DisputeDetails>, StoreError> {
    macro_rules! one {
        ($columns:tt, $tables:tt) => {
            sqlx::query_as!(
                DisputeRow,
                "SELECT " + $columns + " FROM " + $tables + "
                 WHERE (d.address = $2 OR d.execution = $2)
                   AND (e.caller = $1 OR a.creator = $1
                        OR EXISTS (SELECT FROM mirror_config c WHERE c.resolver = $1 AND c.closed_at_slot IS NULL))",
                wallet.to_string(),
                address.to_string(),
            )
        };
    }
    with_columns!(one).fetch_optional(executor).await?.map(DisputeDetails::try_from).transpose()
}
