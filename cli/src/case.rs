//! One dispute with everything that belongs to it, read from the chain.

use agent_marketplace::state::{AgentListed, Dispute, DisputeOutcome};
use anyhow::Context;
use crtx_chain::Execution;
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{
    execution_ref::ExecutionRef,
    market::Market,
    output::{duration, json_time, time},
};

/// Seconds in which the resolver means to answer.
const RESPONSE_TARGET_S: i64 = 72 * 60 * 60;

/// How a dispute ended, in one word.
pub const fn outcome_name(outcome: Option<DisputeOutcome>) -> &'static str {
    match outcome {
        Some(DisputeOutcome::Open) => "open",
        Some(DisputeOutcome::Upheld) => "upheld",
        Some(DisputeOutcome::Rejected) => "rejected",
        Some(DisputeOutcome::Expired) => "expired",
        Some(DisputeOutcome::Cancelled) => "cancelled",
        Some(DisputeOutcome::Abusive) => "abusive",
        None => "unknown",
    }
}

pub struct Case {
    pub address: Pubkey,
    pub dispute: Dispute,
    pub execution: Execution,
    pub agent: AgentListed,
}

impl Case {
    /// The dispute about an execution, which may be named by the address of the dispute too.
    pub async fn find(market: &Market, execution: ExecutionRef, wallet: &Pubkey) -> anyhow::Result<Self> {
        if let ExecutionRef::Record(address) = execution
            && let Ok(Some(dispute)) = market.find(&address).await
        {
            return Self::of(market, address, dispute).await;
        }
        let (record, _) = execution.find(market, wallet).await?;
        let address = market.addresses().dispute(&record);
        let dispute = market.find(&address).await?;
        Self::of(market, address, dispute.with_context(|| format!("nobody disputed the execution {record}"))?).await
    }

    pub async fn of(market: &Market, address: Pubkey, dispute: Dispute) -> anyhow::Result<Self> {
        let execution = market.execution(&dispute.execution).await?;
        let agent = market.agent(&dispute.agent).await?;
        Ok(Self { address, dispute, execution, agent })
    }

    /// The cases of these disputes. A case whose accounts are closed meanwhile is left out.
    pub async fn of_all(market: &Market, disputes: Vec<(Pubkey, Dispute)>) -> Vec<Self> {
        let mut cases = Vec::new();
        for (address, dispute) in disputes {
            if let Ok(case) = Self::of(market, address, dispute).await {
                cases.push(case);
            }
        }
        cases
    }

    pub fn id(&self) -> Uuid {
        Uuid::from_bytes(self.execution.execution_id)
    }

    pub fn is_open(&self) -> bool {
        matches!(self.dispute.outcome(), Some(DisputeOutcome::Open))
    }

    pub fn outcome(&self) -> &'static str {
        outcome_name(self.dispute.outcome())
    }

    pub const fn respond_by(&self) -> i64 {
        self.dispute.raised_at_unix_s.saturating_add(RESPONSE_TARGET_S)
    }

    /// First second in which the resolver can uphold it.
    pub const fn upholdable_from(&self) -> i64 {
        match self.dispute.answered_at_unix_s {
            0 => self.dispute.raised_at_unix_s.saturating_add(Dispute::ANSWER_PERIOD_S),
            answered => answered,
        }
    }

    pub fn penalty(&self) -> UsdcBase {
        UsdcBase(self.dispute.slash_amount.saturating_sub(self.dispute.compensation))
    }

    /// The most that a decision may take.
    pub fn highest_slash(&self) -> u64 {
        let left = self.agent.left_by_others(self.dispute.covered_amount).unwrap_or(0);
        self.execution.highest_slash().unwrap_or(0).min(left)
    }

    pub fn as_json(&self) -> Value {
        let dispute = &self.dispute;
        let hash = |hash: [u8; 32]| (hash != [0; 32]).then(|| ResultHash(hash).to_string());
        json!({
            "dispute": self.address.to_string(),
            "execution_id": self.id(),
            "record": dispute.execution.to_string(),
            "agent_id": dispute.agent.to_string(),
            "caller": dispute.raised_by.to_string(),
            "creator": self.agent.creator.to_string(),
            "status": self.outcome(),
            "amount_usdc": UsdcBase(self.execution.amount),
            "raised_at": json_time(dispute.raised_at_unix_s),
            "respond_by": json_time(self.respond_by()),
            "expires_at": json_time(dispute.decidable_until_unix_s().unwrap_or(0)),
            "answered_at": json_time(dispute.answered_at_unix_s),
            "resolved_at": json_time(dispute.resolved_at_unix_s),
            "evidence_hash": hash(dispute.evidence_hash),
            "evidence_uri": dispute.evidence_uri(),
            "answer_hash": hash(dispute.answer_hash),
            "answer_uri": dispute.answer_uri().filter(|uri| !uri.is_empty()),
            "resolved_by": (dispute.resolved_by != Pubkey::default()).then(|| dispute.resolved_by.to_string()),
            "resolution_hash": hash(dispute.resolution_hash),
            "resolution_uri": dispute.resolution_uri().filter(|uri| !uri.is_empty()),
            "bond_usdc": UsdcBase(dispute.bond),
            "collateral_usdc": UsdcBase(self.agent.collateral),
            "highest_slash_usdc": UsdcBase(self.highest_slash()),
            "compensation_usdc": UsdcBase(dispute.compensation),
            "penalty_usdc": self.penalty(),
        })
    }

    /// Lines for people. `now`: the chain's time.
    pub fn rows(&self, now: i64) -> Vec<(&'static str, String)> {
        let dispute = &self.dispute;
        let mut rows = vec![
            ("dispute", self.address.to_string()),
            ("execution", format!("{} (record {})", self.id(), dispute.execution)),
            ("agent", dispute.agent.to_string()),
            ("caller", dispute.raised_by.to_string()),
            ("creator", self.agent.creator.to_string()),
            ("amount", format!("{} USDC", UsdcBase(self.execution.amount))),
            ("bond", format!("{} USDC", UsdcBase(dispute.bond))),
            ("status", self.outcome().to_owned()),
            ("raised", time(dispute.raised_at_unix_s)),
            ("evidence", format!("{} ({})", dispute.evidence_uri().unwrap_or("?"), ResultHash(dispute.evidence_hash))),
        ];
        match dispute.answered_at_unix_s {
            0 => rows.push(("answer", "none".to_owned())),
            at => rows.push(("answer", format!("{} of {}", dispute.answer_uri().unwrap_or("?"), time(at)))),
        }
        if self.is_open() {
            rows.push(("respond by", self.due(now)));
            rows.push(("expires", time(dispute.decidable_until_unix_s().unwrap_or(0))));
        } else {
            rows.push(("resolved", time(dispute.resolved_at_unix_s)));
            rows.push(("slash", format!("{} USDC", UsdcBase(dispute.slash_amount))));
            rows.push(("to the caller", format!("{} USDC", UsdcBase(dispute.compensation))));
            rows.push(("to insurance", format!("{} USDC", self.penalty())));
        }
        if dispute.resolved_by != Pubkey::default() {
            let (uri, hash) = (dispute.resolution_uri().unwrap_or("?"), ResultHash(dispute.resolution_hash));
            rows.push(("reasons", format!("{uri} ({hash})")));
            rows.push(("decided by", dispute.resolved_by.to_string()));
        }
        rows
    }

    /// The end of the response target, and how far away it is.
    pub fn due(&self, now: i64) -> String {
        let left = self.respond_by().saturating_sub(now);
        let distance = if left < 0 {
            format!("{} late", duration(left.saturating_neg()))
        } else {
            format!("in {}", duration(left))
        };
        format!("{} ({distance})", time(self.respond_by()))
    }
}
