//! The body of `GET /v1/wallets/{wallet}`.

use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::reads::{ListingStatus, OverdueExecution, OwnedAgent, WalletProfile, WalletTotals};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{listing_reason::ListingReason, types::Timestamp};

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
    pub creator: Option<WalletProfile>,
    /// Listings that are not closed.
    pub agents_total: u64,
    /// The newest 20 of them.
    pub agents: Vec<WalletAgent>,
    pub totals: WalletTotals,
    /// Only for the wallet itself: its delisted agents that still have collateral, at most 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawable: Option<Vec<WithdrawableCollateral>>,
    /// Only for the wallet itself: its open executions past their deadline, at most 50, longest first. Anybody can
    /// refund them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refundable: Option<Vec<OverdueExecution>>,
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
    pub status: ListingStatus,
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

impl From<OwnedAgent> for WalletAgent {
    fn from(agent: OwnedAgent) -> Self {
        Self {
            reason: ListingReason::of_owned(&agent),
            agent_id: agent.address,
            name: agent.name,
            status: agent.status,
            price_per_call_usdc: agent.price,
            total_executions: agent.total_executions,
            success_rate: agent.success_rate,
            trust_usdc: agent.trust,
            collateral_usdc: agent.collateral,
            earned_usdc: agent.earned,
            open_executions: agent.open_executions,
            open_disputes: agent.open_disputes,
            created_at: agent.created_at,
        }
    }
}

impl WithdrawableCollateral {
    /// What the program demands of a withdrawal: nothing open, and a second after the last dispute window.
    pub fn new(agent: OwnedAgent, now: DateTime<Utc>) -> Self {
        let is_open = agent.open_executions > 0 || agent.open_disputes > 0;
        let after = |deadline: DateTime<Utc>| deadline.checked_add_signed(TimeDelta::seconds(1));
        let from = agent.last_dispute_deadline.and_then(after).unwrap_or(agent.created_at.0);
        let available_from = (!is_open).then_some(from);
        Self {
            agent_id: agent.address,
            name: agent.name,
            amount_usdc: agent.collateral,
            open_executions: agent.open_executions,
            open_disputes: agent.open_disputes,
            available_from: available_from.map(Timestamp),
            available: available_from.is_some_and(|from| from <= now),
        }
    }
}
