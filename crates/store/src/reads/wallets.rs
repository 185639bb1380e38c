//! What the mirror knows about one wallet: as a creator, a caller, and in the roles of the marketplace.
//!
//! The statements are quick whatever the wallet did: what it paid each agent and earned is kept in totals
//! (`migrations/0003_totals.sql`), and its listings, open executions and compensations are short
//! ranges of indexes. Each of these costs its owner collateral or an escrow.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{agents::ListingStatus, listings::ListingReason};
use crate::{
    Result,
    columns::{Count, Timestamp, Usdc},
};

/// Sums over everything that the wallet did, as far as this index has seen it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WalletTotalsAnswer)]
pub struct WalletTotals {
    /// Listings that are not closed.
    #[serde(skip)]
    pub agents: u64,
    /// As a caller: paid executions.
    completed_executions: u64,
    /// As a caller: refunded executions.
    failed_executions: u64,
    /// As a caller: executions with money in escrow.
    open_executions: u64,
    /// As a caller: paid for completed executions, before compensations.
    #[schema(value_type = f64)]
    spent_usdc: UsdcBase,
    /// As a caller: in escrow.
    #[schema(value_type = f64)]
    open_escrow_usdc: UsdcBase,
    /// As a caller: received in disputes.
    #[schema(value_type = f64)]
    compensation_usdc: UsdcBase,
    /// As a creator: received for results, before slashes.
    #[schema(value_type = f64)]
    earned_usdc: UsdcBase,
    /// As a creator: locked in listings.
    #[schema(value_type = f64)]
    collateral_usdc: UsdcBase,
    /// As a creator: taken from listings by disputes.
    #[schema(value_type = f64)]
    slashed_usdc: UsdcBase,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WalletCreator)]
pub struct WalletProfile {
    /// Empty if the creator has set none.
    display_name: String,
    verified: bool,
}

/// A listing of the wallet, in any status.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WalletAgent)]
pub struct OwnedAgent {
    pub agent_id: String,
    /// null until the metadata document is fetched.
    #[schema(required)]
    pub name: Option<String>,
    /// Why it is not in lists. null if it is.
    #[schema(required, value_type = Option<ListingReason>)]
    pub reason: Option<Json<ListingReason>>,
    pub status: ListingStatus,
    /// Whether the marketplace has stopped new calls of this agent; its status is `paused` then, if it is not delisted.
    pub suspended: bool,
    #[schema(value_type = f64)]
    pub price_per_call_usdc: UsdcBase,
    pub total_executions: u64,
    /// 0.0 to 1.0: successful of total; 0 before the first.
    pub success_rate: f64,
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    #[schema(value_type = f64)]
    pub collateral_usdc: UsdcBase,
    /// Received for its results, before slashes.
    #[schema(value_type = f64)]
    pub earned_usdc: UsdcBase,
    pub open_executions: u64,
    pub open_disputes: u64,
    pub created_at: Timestamp,
    /// Why the last attempt to fetch the document failed.
    #[serde(skip)]
    error: Option<String>,
    #[serde(skip)]
    error_code: Option<String>,
}

/// Collateral of a delisted agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WithdrawableCollateral {
    agent_id: String,
    #[schema(required)]
    name: Option<String>,
    /// The collateral without what open disputes may take.
    #[schema(value_type = f64)]
    amount_usdc: UsdcBase,
    /// They keep the collateral locked.
    open_executions: u64,
    open_disputes: u64,
    /// First second in which it can be withdrawn. null while an execution is open.
    #[schema(required)]
    available_from: Option<Timestamp>,
    /// Whether it can be withdrawn now.
    available: bool,
}

// An open execution of the wallet that is past its deadline: anybody can refund it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = RefundableExecution)]
pub struct OverdueExecution {
    execution_id: Uuid,
    /// Address of the record.
    execution_record: String,
    agent_id: String,
    #[schema(value_type = f64)]
    amount_usdc: UsdcBase,
    deadline_at: Timestamp,
}

pub async fn wallet_totals(db: impl PgExecutor<'_>, wallet: &Pubkey) -> Result<WalletTotals> {
    let totals = sqlx::query_as!(
        WalletTotals,
        r#"SELECT
               paid.completed::bigint AS "completed_executions!: Count", paid.failed::bigint AS "failed_executions!: Count",
               LEAST(paid.spent, 9223372036854775807)::bigint AS "spent_usdc!: Usdc",
               open.executions AS "open_executions!: Count", open.amount AS "open_escrow_usdc!: Usdc",
               listings.agents AS "agents!: Count", listings.collateral AS "collateral_usdc!: Usdc",
               LEAST(listings.slashed + COALESCE(c.closed_slashed_total, 0), 9223372036854775807)::bigint
                   AS "slashed_usdc!: Usdc",
               (SELECT LEAST(COALESCE(sum(e.earned), 0), 9223372036854775807)::bigint
                FROM mirror_agents a JOIN mirror_agent_totals e ON e.agent = a.address
                WHERE a.creator = $1) AS "earned_usdc!: Usdc",
               (SELECT LEAST(COALESCE(sum(compensation), 0), 9223372036854775807)::bigint
                FROM mirror_disputes WHERE raised_by = $1 AND compensation > 0) AS "compensation_usdc!: Usdc"
           FROM (SELECT 1) AS one
           LEFT JOIN mirror_creators c ON c.wallet = $1
           CROSS JOIN LATERAL (
               SELECT COALESCE(sum(completed), 0) AS completed, COALESCE(sum(failed), 0) AS failed,
                      COALESCE(sum(spent), 0) AS spent
               FROM mirror_agent_callers WHERE caller = $1) AS paid
           CROSS JOIN LATERAL (
               SELECT count(*) AS executions, LEAST(COALESCE(sum(amount), 0), 9223372036854775807)::bigint AS amount
               FROM mirror_executions
               WHERE caller = $1 AND closed_at_slot IS NULL AND status = record_status('open')) AS open
           CROSS JOIN LATERAL (
               SELECT count(*) AS agents, COALESCE(sum(slashed_total), 0) AS slashed,
                      LEAST(COALESCE(sum(collateral), 0), 9223372036854775807)::bigint AS collateral
               FROM mirror_agents WHERE creator = $1 AND closed_at_slot IS NULL) AS listings"#,
        wallet.to_string()
    );
    Ok(totals.fetch_one(db).await?)
}

pub async fn wallet_profile(db: impl PgExecutor<'_>, wallet: &Pubkey) -> Result<Option<WalletProfile>> {
    let profile = sqlx::query_as!(
        WalletProfile,
        "SELECT display_name, verified FROM mirror_creators WHERE wallet = $1 AND closed_at_slot IS NULL",
        wallet.to_string()
    );
    Ok(profile.fetch_optional(db).await?)
}

/// The newest listings of a creator.
pub async fn owned_agents(db: impl PgExecutor<'_>, creator: &Pubkey, limit: u32) -> Result<Vec<OwnedAgent>> {
    let agents = sqlx::query_as!(
        OwnedAgent,
        r#"SELECT a.address AS agent_id, a.name, NULL::jsonb AS "reason: Json<ListingReason>",
                  a.price AS "price_per_call_usdc!: Usdc", a.status AS "status!: ListingStatus", a.suspended,
                  a.total_executions AS "total_executions!: Count", a.success_rate AS "success_rate!",
                  COALESCE(agent_trust(a.address), 0) AS "trust_usdc!: Usdc", a.collateral AS "collateral_usdc!: Usdc",
                  a.open_executions AS "open_executions!: Count", a.open_disputes AS "open_disputes!: Count",
                  a.created_at AS "created_at!: Timestamp",
                  LEAST(COALESCE(e.earned, 0), 9223372036854775807)::bigint AS "earned_usdc!: Usdc",
                  m.error AS "error?", m.error_code AS "error_code?"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.uri = a.metadata_uri
           LEFT JOIN mirror_agent_totals e ON e.agent = a.address
           WHERE a.creator = $1 AND a.closed_at_slot IS NULL
           ORDER BY a.created_at DESC, a.address
           LIMIT $2"#,
        creator.to_string(),
        i64::from(limit)
    );
    let mut agents = agents.fetch_all(db).await?;
    for agent in &mut agents {
        let (failure, code) = (agent.error.as_deref(), agent.error_code.as_deref());
        agent.reason = ListingReason::of(agent.status, agent.name.is_some(), failure, code).map(Json);
    }
    Ok(agents)
}

/// The collateral of the newest delisted agents of a creator. The program demands of a withdrawal that nothing is open,
/// and a second after the last dispute window.
pub async fn withdrawable_collateral(
    db: impl PgExecutor<'_>,
    creator: &Pubkey,
    limit: u32,
    now: DateTime<Utc>,
) -> Result<Vec<WithdrawableCollateral>> {
    let collateral = sqlx::query_as!(
        WithdrawableCollateral,
        r#"SELECT a.address AS agent_id, a.name, w.amount AS "amount_usdc!: Usdc",
                  a.open_executions AS "open_executions!: Count", a.open_disputes AS "open_disputes!: Count",
                  w.available_from AS "available_from?: Timestamp",
                  COALESCE(w.available_from <= $3, false) AND w.amount > 0 AS "available!"
           FROM mirror_agents a
           CROSS JOIN LATERAL (
               SELECT GREATEST(a.collateral - a.slashable_amount, 0) AS amount,
                      CASE WHEN a.open_executions = 0
                           THEN COALESCE(a.last_dispute_deadline + interval '1 second', a.created_at)
                      END AS available_from) AS w
           WHERE a.creator = $1 AND a.closed_at_slot IS NULL AND a.status = agent_status('delisted') AND a.collateral > 0
           ORDER BY a.created_at DESC, a.address
           LIMIT $2"#,
        creator.to_string(),
        i64::from(limit),
        now,
    );
    Ok(collateral.fetch_all(db).await?)
}

/// The wallet's open executions that are longest past their deadline.
pub async fn overdue_executions(db: impl PgExecutor<'_>, caller: &Pubkey, limit: u32) -> Result<Vec<OverdueExecution>> {
    let executions = sqlx::query_as!(
        OverdueExecution,
        r#"SELECT execution_id, address AS execution_record, agent AS agent_id, amount AS "amount_usdc!: Usdc",
                  deadline_at AS "deadline_at!: Timestamp"
           FROM mirror_executions
           WHERE caller = $1 AND closed_at_slot IS NULL AND status = record_status('open') AND deadline_at < now()
           ORDER BY deadline_at
           LIMIT $2"#,
        caller.to_string(),
        i64::from(limit)
    );
    Ok(executions.fetch_all(db).await?)
}
