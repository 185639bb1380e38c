//! The body of `GET /v1/wallets/{wallet}`.

use agent_marketplace::state::AgentStatus;
use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::{OverdueExecution, OwnedAgent, WalletProfile, WalletTotals};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{listing_reason::ListingReason, names::OwnListingStatusName, types::Timestamp};

/// A wallet: as a caller, a creator, and in the roles of the marketplace.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletResponse {
    pub wallet: String,
    /// The wallet's associated USDC account, which pays for calls.
    pub usdc_account: String,
    /// The address that the wallet approves once for all of its keys.
    pub spender: String,
    pub approval: WalletApproval,
    /// Of `admin`, `pending_admin`, `resolver`, `gateway_authority`, `treasury_owner` and `insurance_owner`.
    pub roles: Vec<&'static str>,
    /// null if the wallet has no profile.
    #[schema(required)]
    pub creator: Option<WalletCreator>,
    /// Listings that are not closed.
    pub agents_total: u64,
    /// The newest 20 of them.
    pub agents: Vec<WalletAgent>,
    pub totals: WalletTotalsAnswer,
    /// Only for the wallet itself: its delisted agents that still have collateral, at most 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawable: Option<Vec<WithdrawableCollateral>>,
    /// Only for the wallet itself: its open executions past their deadline, at most 50, longest first. Anybody can
    /// refund them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refundable: Option<Vec<RefundableExecution>>,
}

/// All keys of a wallet spend from one token approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletApproval {
    /// What the wallet holds. null if the chain did not answer in time.
    #[schema(required, value_type = Option<f64>)]
    pub holding_usdc: Option<UsdcBase>,
    /// What the wallet lets its spender address move. null if the chain did not answer in time.
    #[schema(required, value_type = Option<f64>)]
    pub approved_usdc: Option<UsdcBase>,
    /// What all keys that are neither revoked nor expired may still spend together. null: one of them has no limit.
    #[schema(required, value_type = Option<f64>)]
    pub needed_usdc: Option<UsdcBase>,
    /// How much `approved_usdc` is below `needed_usdc`. null if one of them is.
    #[schema(required, value_type = Option<f64>)]
    pub short_usdc: Option<UsdcBase>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletCreator {
    /// Empty if the creator has set none.
    pub display_name: String,
    pub verified: bool,
}

/// A listing of the wallet, in any status.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletAgent {
    pub agent_id: String,
    /// null until the metadata document is fetched.
    #[schema(required)]
    pub name: Option<String>,
    /// Why it is not in lists. null if it is.
    #[schema(required)]
    pub reason: Option<ListingReason>,
    #[schema(value_type = OwnListingStatusName)]
    pub status: &'static str,
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
}

/// Sums over everything that the wallet did, as far as this index has seen it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletTotalsAnswer {
    /// As a caller: paid executions.
    pub completed_executions: u64,
    /// As a caller: refunded executions.
    pub failed_executions: u64,
    /// As a caller: executions with money in escrow.
    pub open_executions: u64,
    /// As a caller: paid for completed executions, before compensations.
    #[schema(value_type = f64)]
    pub spent_usdc: UsdcBase,
    /// As a caller: in escrow.
    #[schema(value_type = f64)]
    pub open_escrow_usdc: UsdcBase,
    /// As a caller: received in disputes.
    #[schema(value_type = f64)]
    pub compensation_usdc: UsdcBase,
    /// As a creator: received for results, before slashes.
    #[schema(value_type = f64)]
    pub earned_usdc: UsdcBase,
    /// As a creator: locked in listings.
    #[schema(value_type = f64)]
    pub collateral_usdc: UsdcBase,
    /// As a creator: taken from listings by disputes.
    #[schema(value_type = f64)]
    pub slashed_usdc: UsdcBase,
}

/// Collateral of a delisted agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WithdrawableCollateral {
    pub agent_id: String,
    #[schema(required)]
    pub name: Option<String>,
    #[schema(value_type = f64)]
    pub amount_usdc: UsdcBase,
    /// They keep the collateral locked.
    pub open_executions: u64,
    pub open_disputes: u64,
    /// First second in which it can be withdrawn. null while something is open.
    #[schema(required)]
    pub available_from: Option<Timestamp>,
    /// Whether it can be withdrawn now.
    pub available: bool,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RefundableExecution {
    pub execution_id: Uuid,
    /// Address of the record.
    pub execution_record: String,
    pub agent_id: String,
    #[schema(value_type = f64)]
    pub amount_usdc: UsdcBase,
    pub deadline_at: Timestamp,
}

impl From<WalletProfile> for WalletCreator {
    fn from(profile: WalletProfile) -> Self {
        Self { display_name: profile.display_name, verified: profile.verified }
    }
}

impl From<OwnedAgent> for WalletAgent {
    fn from(agent: OwnedAgent) -> Self {
        Self {
            agent_id: agent.address.to_string(),
            reason: ListingReason::of_owned(&agent),
            name: agent.name,
            status: match agent.status {
                AgentStatus::Active => "active",
                AgentStatus::Paused => "paused",
                AgentStatus::Delisted => "delisted",
            },
            price_per_call_usdc: agent.price,
            total_executions: agent.total_executions,
            success_rate: agent.success_rate,
            trust_usdc: agent.trust,
            collateral_usdc: agent.collateral,
            earned_usdc: agent.earned,
            open_executions: agent.open_executions,
            open_disputes: agent.open_disputes,
            created_at: Timestamp(agent.created_at),
        }
    }
}

impl From<WalletTotals> for WalletTotalsAnswer {
    fn from(totals: WalletTotals) -> Self {
        Self {
            completed_executions: totals.completed_executions,
            failed_executions: totals.failed_executions,
            open_executions: totals.open_executions,
            spent_usdc: totals.spent,
            open_escrow_usdc: totals.open_escrow,
            compensation_usdc: totals.compensation,
            earned_usdc: totals.earned,
            collateral_usdc: totals.collateral,
            slashed_usdc: totals.slashed,
        }
    }
}

impl WithdrawableCollateral {
    /// What the program demands of a withdrawal: nothing open, and a second after the last dispute window.
    pub fn new(agent: OwnedAgent, now: DateTime<Utc>) -> Self {
        let is_open = agent.open_executions > 0 || agent.open_disputes > 0;
        let after = |deadline: DateTime<Utc>| deadline.checked_add_signed(TimeDelta::seconds(1));
        let from = agent.last_dispute_deadline.and_then(after).unwrap_or(agent.created_at);
        let available_from = (!is_open).then_some(from);
        Self {
            agent_id: agent.address.to_string(),
            name: agent.name,
            amount_usdc: agent.collateral,
            open_executions: agent.open_executions,
            open_disputes: agent.open_disputes,
            available_from: available_from.map(Timestamp),
            available: available_from.is_some_and(|from| from <= now),
        }
    }
}

impl From<OverdueExecution> for RefundableExecution {
    fn from(execution: OverdueExecution) -> Self {
        Self {
            execution_id: execution.execution_id,
            execution_record: execution.record.to_string(),
            agent_id: execution.agent.to_string(),
            amount_usdc: execution.amount,
            deadline_at: Timestamp(execution.deadline),
        }
    }
}
