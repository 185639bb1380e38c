//! What the mirror knows about one wallet: as a creator, a caller, and in the roles of the marketplace.
//!
//! The statements are quick whatever the wallet did: what it paid and earned is kept in totals
//! (`migrations/0003_totals.sql`), and its listings, open executions and compensations are short
//! ranges of indexes. Each of these costs its owner collateral or an escrow.

use agent_marketplace::state::AgentStatus;
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::listings::{DocumentFailure, agent_status, failure};
use crate::{
    convert::{amount_from_db, pubkey},
    error::StoreError,
};

/// Sums over everything that a wallet did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalletTotals {
    /// Listings that are not closed.
    pub agents: u64,
    /// As a caller.
    pub completed_executions: u64,
    /// As a caller: refunded ones.
    pub failed_executions: u64,
    pub open_executions: u64,
    /// In escrow for them.
    pub open_escrow: UsdcBase,
    /// Paid for completed executions.
    pub spent: UsdcBase,
    /// Received in disputes.
    pub compensation: UsdcBase,
    /// Received for results, as a creator.
    pub earned: UsdcBase,
    /// Locked in listings.
    pub collateral: UsdcBase,
    /// Taken from listings by disputes, closed ones among them.
    pub slashed: UsdcBase,
}

/// The creator's profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletProfile {
    pub display_name: String,
    pub verified: bool,
}

/// A listing of the wallet, in any status but closed.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedAgent {
    pub address: Pubkey,
    /// `None` until the metadata document is fetched.
    pub name: Option<String>,
    /// Why the last attempt to fetch the document failed.
    pub document_failure: Option<DocumentFailure>,
    pub price: UsdcBase,
    pub status: AgentStatus,
    pub total_executions: u64,
    pub success_rate: f64,
    pub trust: UsdcBase,
    pub collateral: UsdcBase,
    /// What the creator received for its results; slashes are not subtracted.
    pub earned: UsdcBase,
    pub open_executions: u64,
    pub open_disputes: u64,
    /// The collateral stays locked until then.
    pub last_dispute_deadline: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// An open execution of the wallet that is past its deadline: anybody can refund it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverdueExecution {
    pub execution_id: Uuid,
    pub record: Pubkey,
    pub agent: Pubkey,
    pub amount: UsdcBase,
    pub deadline: DateTime<Utc>,
}

pub async fn wallet_totals(executor: impl PgExecutor<'_>, wallet: &Pubkey) -> Result<WalletTotals, StoreError> {
    let row = sqlx::query!(
        r#"SELECT
               COALESCE(t.completed, 0) AS "completed!", COALESCE(t.failed, 0) AS "failed!",
               LEAST(COALESCE(t.spent, 0), 9223372036854775807)::bigint AS "spent!",
               open.executions AS "open!", open.amount AS "open_amount!",
               listings.agents AS "agents!", listings.collateral AS "collateral!",
               LEAST(listings.slashed + COALESCE(c.closed_slashed_total, 0), 9223372036854775807)::bigint AS "slashed!",
               (SELECT LEAST(COALESCE(sum(e.earned), 0), 9223372036854775807)::bigint
                FROM mirror_agents a JOIN mirror_agent_earnings e ON e.agent = a.address
                WHERE a.creator = $1) AS "earned!",
               (SELECT LEAST(COALESCE(sum(compensation), 0), 9223372036854775807)::bigint
                FROM mirror_disputes WHERE raised_by = $1 AND compensation > 0) AS "compensation!"
           FROM (SELECT 1) AS one
           LEFT JOIN mirror_wallet_totals t ON t.wallet = $1
           LEFT JOIN mirror_creators c ON c.wallet = $1
           CROSS JOIN LATERAL (
               SELECT count(*) AS executions, LEAST(COALESCE(sum(amount), 0), 9223372036854775807)::bigint AS amount
               FROM mirror_executions
               WHERE caller = $1 AND closed_at_slot IS NULL AND status = record_status('open')) AS open
           CROSS JOIN LATERAL (
               SELECT count(*) AS agents, COALESCE(sum(slashed_total), 0) AS slashed,
                      LEAST(COALESCE(sum(collateral), 0), 9223372036854775807)::bigint AS collateral
               FROM mirror_agents WHERE creator = $1 AND closed_at_slot IS NULL) AS listings"#,
        wallet.to_string()
    )
    .fetch_one(executor)
    .await?;
    let usdc = |what, amount| amount_from_db(what, amount).map(UsdcBase);
    Ok(WalletTotals {
        agents: amount_from_db("agents", row.agents)?,
        completed_executions: amount_from_db("completed executions", row.completed)?,
        failed_executions: amount_from_db("failed executions", row.failed)?,
        open_executions: amount_from_db("open executions", row.open)?,
        open_escrow: usdc("open escrow", row.open_amount)?,
        spent: usdc("spent", row.spent)?,
        compensation: usdc("compensation", row.compensation)?,
        earned: usdc("earned", row.earned)?,
        collateral: usdc("collateral", row.collateral)?,
        slashed: usdc("slashed", row.slashed)?,
    })
}

pub async fn wallet_profile(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
) -> Result<Option<WalletProfile>, StoreError> {
    let profile = sqlx::query_as!(
        WalletProfile,
        "SELECT display_name, verified FROM mirror_creators WHERE wallet = $1 AND closed_at_slot IS NULL",
        wallet.to_string()
    );
    Ok(profile.fetch_optional(executor).await?)
}

/// The newest listings of a creator. `delisted`: only those whose collateral is still there to be withdrawn.
pub async fn owned_agents(
    executor: impl PgExecutor<'_>,
    creator: &Pubkey,
    delisted: bool,
    limit: u32,
) -> Result<Vec<OwnedAgent>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT a.address, a.name, a.price, a.status, a.total_executions, a.success_rate, a.trust, a.collateral,
                  a.open_executions, a.open_disputes, a.last_dispute_deadline, a.created_at,
                  LEAST(COALESCE(e.earned, 0), 9223372036854775807)::bigint AS "earned!",
                  m.error AS "error?", m.error_code AS "error_code?"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash AND m.uri = a.metadata_uri
           LEFT JOIN mirror_agent_earnings e ON e.agent = a.address
           WHERE a.creator = $1 AND a.closed_at_slot IS NULL
             AND (NOT $2 OR (a.status = agent_status('delisted') AND a.collateral > 0))
           ORDER BY a.created_at DESC, a.address
           LIMIT $3"#,
        creator.to_string(),
        delisted,
        i64::from(limit)
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(OwnedAgent {
                address: pubkey("agent address", &row.address)?,
                name: row.name,
                document_failure: failure(row.error, row.error_code),
                price: UsdcBase(amount_from_db("price", row.price)?),
                status: agent_status(row.status)?,
                total_executions: amount_from_db("executions", row.total_executions)?,
                success_rate: row.success_rate,
                trust: UsdcBase(amount_from_db("trust", row.trust)?),
                collateral: UsdcBase(amount_from_db("collateral", row.collateral)?),
                earned: UsdcBase(amount_from_db("earned", row.earned)?),
                open_executions: amount_from_db("open executions", row.open_executions)?,
                open_disputes: amount_from_db("open disputes", row.open_disputes)?,
                last_dispute_deadline: row.last_dispute_deadline,
                created_at: row.created_at,
            })
        })
        .collect()
}

/// The wallet's open executions that are longest past their deadline.
pub async fn overdue_executions(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    limit: u32,
) -> Result<Vec<OverdueExecution>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT execution_id, address, agent, amount, deadline_at AS "deadline_at!"
           FROM mirror_executions
           WHERE caller = $1 AND closed_at_slot IS NULL AND status = record_status('open') AND deadline_at < now()
           ORDER BY deadline_at
           LIMIT $2"#,
        caller.to_string(),
        i64::from(limit)
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(OverdueExecution {
                execution_id: row.execution_id,
                record: pubkey("record", &row.address)?,
                agent: pubkey("agent", &row.agent)?,
                amount: UsdcBase(amount_from_db("amount", row.amount)?),
                deadline: row.deadline_at,
            })
        })
        .collect()
}
