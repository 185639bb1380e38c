//! The kinds of accounts: their tables, and the columns that are in the account.

use agent_marketplace::state::{
    AgentListed, AgentStatus, Config, CreatorProfile, Dispute, ExecutionRecord, ExecutionStatus, MarketParameters,
    OpenTerms, SpendingGrant,
};
use crtx_protocol::text::without_nul;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use unicode_security::confusable_detection::skeleton;
use uuid::Uuid;

use super::row::{MirrorTable, Mirrored, bit, bytes, optional_time, time};
use crate::{
    convert::{amount_to_db, optional_address, optional_amount_to_db, saturating_to_db},
    error::StoreError,
};

/// The tables, in the order in which a batch locks them.
pub static TABLES: [&MirrorTable; 6] = [&CONFIG, &CREATORS, &AGENTS, &EXECUTIONS, &DISPUTES, &GRANTS];

/// The marketplace's configuration: one account, one row. `reads/configuration.rs` reads it.
pub static CONFIG: MirrorTable = MirrorTable { name: "mirror_config", derived: &[] };

/// Announced parameters, as one JSON value: nobody selects by them.
fn parameters(parameters: &MarketParameters) -> Value {
    json!({
        "min_price": parameters.min_price,
        "dispute_bond": parameters.dispute_bond,
        "dispute_window_s": parameters.dispute_window_s,
        "settle_grace_s": parameters.settle_grace_s,
        "collateral_tiers": tiers(parameters),
        "fee_bps": parameters.fee_bps,
        "max_penalty_multiple": parameters.max_penalty_multiple,
    })
}

fn tiers(parameters: &MarketParameters) -> Value {
    parameters
        .collateral_tiers
        .iter()
        .map(|t| json!({ "max_price": t.max_price, "collateral": t.collateral }))
        .collect()
}

impl Mirrored for Config {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let parameters_apply_from = optional_time("parameters_apply_from", self.parameters_apply_from_unix_s)?;
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "admin": self.admin.to_string(),
            "pending_admin": optional_address(&self.pending_admin),
            "resolver": optional_address(&self.resolver),
            "gateway_authority": self.gateway_authority.to_string(),
            "treasury_owner": self.treasury_owner.to_string(),
            "insurance_owner": self.insurance_owner.to_string(),
            "usdc_mint": self.usdc_mint.to_string(),
            "announced_resolver": optional_address(&self.announced_resolver),
            "announced_treasury_owner": optional_address(&self.announced_treasury_owner),
            "announced_insurance_owner": optional_address(&self.announced_insurance_owner),
            "roles_apply_from": optional_time("roles_apply_from", self.roles_apply_from_unix_s)?,
            "resolver_since": time("resolver_since", self.resolver_since_unix_s)?,
            "min_price": amount_to_db("minimum price", self.parameters.min_price)?,
            "dispute_bond": amount_to_db("dispute bond", self.parameters.dispute_bond)?,
            "dispute_window_s": self.parameters.dispute_window_s,
            "settle_grace_s": self.parameters.settle_grace_s,
            "collateral_tiers": tiers(&self.parameters),
            "fee_bps": self.parameters.fee_bps,
            "max_penalty_multiple": self.parameters.max_penalty_multiple,
            "announced_parameters": parameters_apply_from.as_ref().map(|_| parameters(&self.announced_parameters)),
            "parameters_apply_from": parameters_apply_from,
            "openings_paused": bit("openings paused", self.openings_paused)?,
            "listings_paused": bit("listings paused", self.listings_paused)?,
            "guardian": optional_address(&self.guardian),
        });
        Ok((&CONFIG, columns))
    }
}

/// Equal for names that look alike: lower case, confusable characters replaced, without spaces.
fn skeleton_of(name: &str) -> String {
    let lower = name.to_lowercase();
    without_nul(&skeleton(&lower).filter(|c| *c != ' ').collect::<String>())
}

/// Profiles of creators.
pub static CREATORS: MirrorTable = MirrorTable { name: "mirror_creators", derived: &[] };

impl Mirrored for CreatorProfile {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let display_name =
            self.display_name().ok_or_else(|| StoreError::corrupt("display name", hex::encode(self.display_name)))?;
        let closed = |total| amount_to_db("total of closed agents", total);
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "wallet": self.wallet.to_string(),
            // Empty if the creator has set none.
            "display_name": without_nul(display_name),
            "name_skeleton": skeleton_of(display_name),
            "verified": bit("verified", self.verified)?,
            "verified_at": optional_time("verified_at", self.verified_at_unix_s)?,
            "created_at": time("created_at", self.created_at_unix_s)?,
            "updated_at": time("updated_at", self.updated_at_unix_s)?,
            "next_agent_index": self.next_agent_index,
            "closed_agents": closed(self.closed.agents)?,
            "closed_completed_executions": closed(self.closed.completed_executions)?,
            "closed_successful_executions": closed(self.closed.successful_executions)?,
            "closed_failed_executions": closed(self.closed.failed_executions)?,
            "closed_unproved_failures": closed(self.closed.unproved_failures)?,
            "closed_expired_executions": closed(self.closed.expired_executions)?,
            "closed_disputed_executions": closed(self.closed.disputed_executions)?,
            "closed_slashed_total": closed(self.closed.slashed_total)?,
            "closed_platform_fees_total": closed(self.closed.platform_fees_total)?,
        });
        Ok((&CREATORS, columns))
    }
}

/// Listings of agents.
pub static AGENTS: MirrorTable = MirrorTable { name: "mirror_agents", derived: &[] };

impl Mirrored for AgentListed {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let status = self.status().ok_or_else(|| StoreError::corrupt("listing status", self.status))?;
        let suspended = bit("suspended", self.suspended)?;
        let shown = if suspended && status == AgentStatus::Active { AgentStatus::Paused } else { status };
        let uri =
            self.metadata_uri().ok_or_else(|| StoreError::corrupt("metadata URI", hex::encode(self.metadata_uri)))?;
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "creator": self.creator.to_string(),
            "agent_index": self.index,
            "result_key": self.result_key.to_string(),
            "metadata_hash": bytes(&self.metadata_hash),
            "metadata_uri": without_nul(uri),
            "binding": bit("binding", self.binding)?,
            "min_cover": self.min_cover,
            "price": amount_to_db("price", self.price)?,
            "collateral": amount_to_db("collateral", self.collateral)?,
            "slashed_total": amount_to_db("slashed total", self.slashed_total)?,
            "open_amount": amount_to_db("open amount", self.open_amount)?,
            "disputed_amount": amount_to_db("disputed amount", self.disputed_amount)?,
            "covered_amount": amount_to_db("covered amount", self.covered_amount)?,
            "slashable_amount": amount_to_db("slashable amount", self.slashable_amount)?,
            "open_bonds": amount_to_db("open bonds", self.open_bonds)?,
            "total_executions": amount_to_db("total executions", self.total_executions)?,
            "successful_executions": amount_to_db("successful executions", self.successful_executions)?,
            "failed_executions": amount_to_db("failed executions", self.failed_executions)?,
            "unproved_failures": amount_to_db("unproved failures", self.unproved_failures)?,
            "expired_executions": amount_to_db("expired executions", self.expired_executions)?,
            "disputed_executions": amount_to_db("disputed executions", self.disputed_executions)?,
            "completed_executions": amount_to_db("completed executions", self.completed_executions)?,
            // A sum of what the gateway reported.
            "execution_time_ms_total": saturating_to_db(self.execution_time_ms_total),
            "timed_executions": amount_to_db("timed executions", self.timed_executions)?,
            "platform_fees_total": amount_to_db("platform fees", self.platform_fees_total)?,
            "timeout_seconds": self.timeout_seconds,
            "open_executions": self.open_executions,
            "open_disputes": self.open_disputes,
            "status": shown as u8,
            "suspended": suspended,
            "created_at": time("created_at", self.created_at_unix_s)?,
            "updated_at": time("updated_at", self.updated_at_unix_s)?,
            "last_dispute_deadline": optional_time("dispute deadline", self.last_dispute_deadline_unix_s)?,
        });
        Ok((&AGENTS, columns))
    }
}

/// On-chain records of executions.
pub static EXECUTIONS: MirrorTable = MirrorTable {
    name: "mirror_executions",
    // When the gateway took the request, if it did: its row is older than the record. Not a join: without statistics that
    // reads the whole table even for a few rows.
    derived: &[(
        "initiated_at",
        "COALESCE((SELECT e.created_at FROM executions e WHERE e.record = r.address), r.opened_at)",
    )],
};

/// An execution as its account holds it.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionAccount {
    pub record: ExecutionRecord,
    /// `Some` while the execution is open. The program drops them when it ends.
    pub terms: Option<OpenTerms>,
}

impl Mirrored for ExecutionAccount {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let (record, terms) = (&self.record, self.terms.as_ref());
        let status = record.status().ok_or_else(|| StoreError::corrupt("execution status", record.status))?;
        if record.failure_reason != 0 && record.failure_reason().is_none() {
            return Err(StoreError::corrupt("failure reason", record.failure_reason));
        }
        if record.settled_by != 0 && record.settled_by().is_none() {
            return Err(StoreError::corrupt("settler", record.settled_by));
        }
        if (status == ExecutionStatus::Open) != terms.is_some() {
            return Err(StoreError::corrupt("open terms", "an open execution has them, an ended one does not"));
        }
        let settled =
            matches!(status, ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned);
        let split = record.split().ok_or_else(|| StoreError::corrupt("fee", record.fee_bps))?;
        let columns = json!({
            "revision": amount_to_db("revision", record.revision)?,
            "execution_id": Uuid::from_bytes(record.execution_id),
            "agent": record.agent.to_string(),
            "caller": record.caller.to_string(),
            "rent_payer": record.rent_payer.to_string(),
            "result_hash": settled.then(|| bytes(&record.result_hash)),
            "amount": amount_to_db("amount", record.amount)?,
            "creator_amount": amount_to_db("creator amount", split.creator)?,
            "platform_amount": amount_to_db("platform amount", split.platform)?,
            "tokens_used": optional_amount_to_db("tokens used", record.reported_tokens())?,
            "execution_time_ms": record.execution_time_ms,
            "dispute_window_s": record.dispute_window_s,
            "fee_bps": record.fee_bps,
            "max_penalty_multiple": record.max_penalty_multiple,
            "binding": bit("binding", record.binding)?,
            "settled_by": record.settled_by().map(|settler| settler as u8),
            "agents_failure": bit("failure of the agent", record.agents_failure)?,
            "opened_at": time("opened_at", record.opened_at_unix_s)?,
            "finished_at": optional_time("finished_at", record.finished_at_unix_s)?,
            "status": status as u8,
            "failure_reason": record.failure_reason().map(|reason| reason as u8),
            "dispute_count": record.dispute_count,
            "request_hash": terms.map(|terms| bytes(&terms.request_hash)),
            "result_key": terms.map(|terms| terms.result_key.to_string()),
            "grant_address": terms.and_then(|terms| optional_address(&terms.grant)),
            "paid_from": terms.map(|terms| terms.paid_from.to_string()),
            "deadline_at": terms.map(|terms| time("deadline", terms.deadline_unix_s)).transpose()?,
            "timeout_seconds": terms.map(|terms| terms.timeout_seconds),
        });
        Ok((&EXECUTIONS, columns))
    }
}

/// Disputes about executions.
pub static DISPUTES: MirrorTable = MirrorTable { name: "mirror_disputes", derived: &[] };

impl Mirrored for Dispute {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let outcome = self.outcome().ok_or_else(|| StoreError::corrupt("dispute outcome", self.outcome))?;
        let uri =
            self.evidence_uri().ok_or_else(|| StoreError::corrupt("evidence URI", hex::encode(self.evidence_uri)))?;
        let answer_uri =
            self.answer_uri().ok_or_else(|| StoreError::corrupt("answer URI", hex::encode(self.answer_uri)))?;
        let resolution_uri = self
            .resolution_uri()
            .ok_or_else(|| StoreError::corrupt("resolution URI", hex::encode(self.resolution_uri)))?;
        let answered_at = optional_time("answered_at", self.answered_at_unix_s)?;
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "execution": self.execution.to_string(),
            "agent": self.agent.to_string(),
            "raised_by": self.raised_by.to_string(),
            "rent_payer": self.rent_payer.to_string(),
            "evidence_hash": bytes(&self.evidence_hash),
            "evidence_uri": without_nul(uri),
            // The program stores zeros if the resolver did not decide.
            "resolution_hash": (self.resolution_hash != [0; 32]).then(|| bytes(&self.resolution_hash)),
            "resolution_uri": (!resolution_uri.is_empty()).then(|| without_nul(resolution_uri)),
            "resolved_by": optional_address(&self.resolved_by),
            "bond": amount_to_db("bond", self.bond)?,
            "answer_hash": answered_at.as_ref().map(|_| bytes(&self.answer_hash)),
            "answer_uri": answered_at.as_ref().map(|_| without_nul(answer_uri)),
            "answered_at": answered_at,
            "raised_at": time("raised_at", self.raised_at_unix_s)?,
            "resolved_at": optional_time("resolved_at", self.resolved_at_unix_s)?,
            "slash_amount": amount_to_db("slash amount", self.slash_amount)?,
            "compensation": amount_to_db("compensation", self.compensation)?,
            "covered_amount": amount_to_db("covered amount", self.covered_amount)?,
            "outcome": outcome as u8,
        });
        Ok((&DISPUTES, columns))
    }
}

/// Spending grants of session keys.
pub static GRANTS: MirrorTable = MirrorTable { name: "mirror_grants", derived: &[] };

impl Mirrored for SpendingGrant {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "wallet": self.wallet.to_string(),
            "session_key": self.session_key.to_string(),
            "allowed_agents": self.allowed_agents().iter().map(Pubkey::to_string).collect::<Vec<_>>(),
            // Caps may be "no limit". Money that large does not exist, so the largest bigint says the same.
            "per_call_cap": saturating_to_db(self.per_call_cap),
            "total_cap": saturating_to_db(self.total_cap),
            "daily_cap": (self.daily_cap > 0).then(|| saturating_to_db(self.daily_cap)),
            "spent_on_day": amount_to_db("amount spent on a day", self.spent_on_day)?,
            "spent_day": saturating_to_db(self.day),
            "spent": amount_to_db("amount spent", self.spent)?,
            "executions": saturating_to_db(self.executions),
            "expires_at_unix_s": self.expires_at_unix_s,
            "created_at": time("created_at", self.created_at_unix_s)?,
            "revoked": bit("revoked", self.revoked)?,
        });
        Ok((&GRANTS, columns))
    }
}
