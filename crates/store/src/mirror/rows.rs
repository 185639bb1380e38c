//! One row type per mirrored account, and how an account becomes a row. The rows travel to PostgreSQL as
//! JSON whose members are the columns, and come back the same way for the audit, so that "the row equals
//! the account" is one comparison.

use agent_marketplace::state::{
    AgentListing, Config, CreatorProfile, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, SpendingGrant,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{
    StoreError,
    convert::{amount_to_db, optional_address, optional_time_to_db, saturating_to_db, time_to_db},
};

/// An account type that the mirror has a table for.
pub trait Mirrored {
    type Row: MirrorRow;

    /// The row of an account as read at `slot`. Fails for bytes that the program never writes.
    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<Self::Row, StoreError>;
}

/// What all rows have.
pub trait MirrorRow: Serialize {
    fn address(&self) -> &str;
    /// What a row is ordered by: newer revision, then newer slot.
    fn version(&self) -> (i64, i64);
}

macro_rules! mirror_row {
    ($($row:ident),+) => {
        $(impl MirrorRow for $row {
            fn address(&self) -> &str {
                &self.address
            }

            fn version(&self) -> (i64, i64) {
                (self.revision, self.slot)
            }
        })+
    };
}

mirror_row!(ConfigRow, CreatorRow, AgentRow, ExecutionRow, DisputeRow, GrantRow);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub admin: String,
    pub pending_admin: Option<String>,
    /// `None` while there is no resolver.
    pub resolver: Option<String>,
    pub gateway_authority: String,
    pub treasury_owner: String,
    pub usdc_mint: String,
    pub announced_resolver: Option<String>,
    pub announced_treasury_owner: Option<String>,
    pub roles_apply_from: Option<DateTime<Utc>>,
    pub resolver_since: DateTime<Utc>,
    pub dispute_window_s: i64,
    pub settle_grace_s: i64,
    pub collateral_tiers: Vec<TierRow>,
    pub fee_bps: i32,
    pub paused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierRow {
    pub max_price: u64,
    pub collateral: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatorRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub wallet: String,
    pub display_name: String,
    pub verified: bool,
    pub verified_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub creator: String,
    pub agent_index: i64,
    pub result_key: String,
    pub metadata_hash: Bytes,
    pub metadata_uri: String,
    pub price: i64,
    pub collateral: i64,
    pub slashed_total: i64,
    pub open_amount: i64,
    pub total_executions: i64,
    pub successful_executions: i64,
    pub failed_executions: i64,
    pub disputed_executions: i64,
    pub completed_executions: i64,
    pub execution_time_ms_total: i64,
    pub timeout_seconds: i64,
    pub open_executions: i64,
    pub open_disputes: i64,
    pub status: i16,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_dispute_deadline: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub execution_id: Uuid,
    pub agent: String,
    pub caller: String,
    pub request_hash: Bytes,
    pub refund_owner: String,
    pub result_key: String,
    pub rent_payer: String,
    pub grant_address: Option<String>,
    pub result_hash: Option<Bytes>,
    pub amount: i64,
    pub creator_amount: i64,
    pub platform_amount: i64,
    pub tokens_used: Option<i64>,
    pub execution_time_ms: i64,
    pub timeout_seconds: i64,
    pub dispute_window_s: i64,
    pub opened_at: DateTime<Utc>,
    pub deadline_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub dispute_deadline: Option<DateTime<Utc>>,
    pub status: i16,
    pub failure_reason: Option<i16>,
    pub dispute_count: i16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisputeRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub execution: String,
    pub agent: String,
    pub raised_by: String,
    pub rent_payer: String,
    pub evidence_hash: Bytes,
    pub evidence_uri: String,
    pub resolution_hash: Option<Bytes>,
    pub raised_at: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub slash_amount: i64,
    pub compensation: i64,
    pub outcome: i16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub wallet: String,
    pub session_key: String,
    pub allowed_agents: Vec<String>,
    pub per_call_cap: i64,
    pub total_cap: i64,
    pub spent: i64,
    pub executions: i64,
    pub expires_at_unix_s: i64,
    pub created_at: DateTime<Utc>,
    pub revoked: bool,
}

/// An account of the program whose bytes could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineRow {
    pub address: String,
    pub slot: i64,
    pub data: Bytes,
    pub error: String,
}

/// Bytes in the text form of `bytea`: `\x` and hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("\\x{}", hex::encode(&self.0)))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("\\x").ok_or_else(|| serde::de::Error::custom("bytea starts with \\x"))?;
        hex::decode(digits).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A hash that the program writes as zeros while there is none.
fn optional_hash(hash: &[u8; 32]) -> Option<Bytes> {
    (*hash != [0; 32]).then(|| Bytes(hash.to_vec()))
}

/// Text that others wrote, without the one character that PostgreSQL does not store.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn bit(what: &'static str, value: u8) -> Result<bool, StoreError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(StoreError::corrupt(what, other)),
    }
}

impl Mirrored for Config {
    type Row = ConfigRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<ConfigRow, StoreError> {
        Ok(ConfigRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            admin: self.admin.to_string(),
            pending_admin: optional_address(&self.pending_admin),
            resolver: optional_address(&self.resolver),
            gateway_authority: self.gateway_authority.to_string(),
            treasury_owner: self.treasury_owner.to_string(),
            usdc_mint: self.usdc_mint.to_string(),
            announced_resolver: optional_address(&self.announced_resolver),
            announced_treasury_owner: optional_address(&self.announced_treasury_owner),
            roles_apply_from: optional_time_to_db("roles_apply_from", self.roles_apply_from_unix_s)?,
            resolver_since: time_to_db("resolver_since", self.resolver_since_unix_s)?,
            dispute_window_s: self.dispute_window_s,
            settle_grace_s: self.settle_grace_s,
            collateral_tiers: self
                .collateral_tiers
                .iter()
                .map(|tier| TierRow { max_price: tier.max_price, collateral: tier.collateral })
                .collect(),
            fee_bps: i32::from(self.fee_bps),
            paused: bit("paused", self.paused)?,
        })
    }
}

impl Mirrored for CreatorProfile {
    type Row = CreatorRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<CreatorRow, StoreError> {
        let display_name =
            self.display_name().ok_or_else(|| StoreError::corrupt("display name", hex::encode(self.display_name)))?;
        Ok(CreatorRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            wallet: self.wallet.to_string(),
            display_name: storable(display_name),
            verified: bit("verified", self.verified)?,
            verified_at: optional_time_to_db("verified_at", self.verified_at_unix_s)?,
            created_at: time_to_db("created_at", self.created_at_unix_s)?,
            updated_at: time_to_db("updated_at", self.updated_at_unix_s)?,
        })
    }
}

impl Mirrored for AgentListing {
    type Row = AgentRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<AgentRow, StoreError> {
        let status = self.status().ok_or_else(|| StoreError::corrupt("listing status", self.status))?;
        let uri =
            self.metadata_uri().ok_or_else(|| StoreError::corrupt("metadata URI", hex::encode(self.metadata_uri)))?;
        Ok(AgentRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            creator: self.creator.to_string(),
            agent_index: i64::from(self.index),
            result_key: self.result_key.to_string(),
            metadata_hash: Bytes(self.metadata_hash.to_vec()),
            metadata_uri: storable(uri),
            price: amount_to_db("price", self.price)?,
            collateral: amount_to_db("collateral", self.collateral)?,
            slashed_total: amount_to_db("slashed total", self.slashed_total)?,
            open_amount: amount_to_db("open amount", self.open_amount)?,
            total_executions: amount_to_db("total executions", self.total_executions)?,
            successful_executions: amount_to_db("successful executions", self.successful_executions)?,
            failed_executions: amount_to_db("failed executions", self.failed_executions)?,
            disputed_executions: amount_to_db("disputed executions", self.disputed_executions)?,
            completed_executions: amount_to_db("completed executions", self.completed_executions)?,
            // A sum of what settling parties reported.
            execution_time_ms_total: saturating_to_db(self.execution_time_ms_total),
            timeout_seconds: i64::from(self.timeout_seconds),
            open_executions: i64::from(self.open_executions),
            open_disputes: i64::from(self.open_disputes),
            status: i16::from(status as u8),
            created_at: time_to_db("created_at", self.created_at_unix_s)?,
            updated_at: time_to_db("updated_at", self.updated_at_unix_s)?,
            last_dispute_deadline: optional_time_to_db("dispute deadline", self.last_dispute_deadline_unix_s)?,
        })
    }
}

impl Mirrored for ExecutionRecord {
    type Row = ExecutionRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<ExecutionRow, StoreError> {
        let status = self.status().ok_or_else(|| StoreError::corrupt("execution status", self.status))?;
        if self.failure_reason != 0 && self.failure_reason().is_none() {
            return Err(StoreError::corrupt("failure reason", self.failure_reason));
        }
        let settled =
            matches!(status, ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned);
        Ok(ExecutionRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            execution_id: Uuid::from_bytes(self.execution_id),
            agent: self.agent.to_string(),
            caller: self.caller.to_string(),
            request_hash: Bytes(self.request_hash.to_vec()),
            refund_owner: self.refund_owner.to_string(),
            result_key: self.result_key.to_string(),
            rent_payer: self.rent_payer.to_string(),
            grant_address: optional_address(&self.grant),
            result_hash: settled.then(|| Bytes(self.result_hash.to_vec())),
            amount: amount_to_db("amount", self.amount)?,
            creator_amount: amount_to_db("creator amount", self.creator_amount)?,
            platform_amount: amount_to_db("platform amount", self.platform_amount)?,
            // What the creator's service said; a preposterous number must not hide the record.
            tokens_used: self.reported_tokens().map(saturating_to_db),
            execution_time_ms: saturating_to_db(self.execution_time_ms),
            timeout_seconds: i64::from(self.timeout_seconds),
            dispute_window_s: i64::from(self.dispute_window_s),
            opened_at: time_to_db("opened_at", self.opened_at_unix_s)?,
            deadline_at: time_to_db("deadline", self.deadline_unix_s)?,
            finished_at: optional_time_to_db("finished_at", self.finished_at_unix_s)?,
            dispute_deadline: optional_time_to_db("dispute deadline", self.dispute_deadline_unix_s)?,
            status: i16::from(status as u8),
            failure_reason: self.failure_reason().map(|reason| i16::from(reason as u8)),
            dispute_count: i16::from(self.dispute_count),
        })
    }
}

impl Mirrored for Dispute {
    type Row = DisputeRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<DisputeRow, StoreError> {
        let outcome: DisputeOutcome =
            self.outcome().ok_or_else(|| StoreError::corrupt("dispute outcome", self.outcome))?;
        let uri =
            self.evidence_uri().ok_or_else(|| StoreError::corrupt("evidence URI", hex::encode(self.evidence_uri)))?;
        Ok(DisputeRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            execution: self.execution.to_string(),
            agent: self.agent.to_string(),
            raised_by: self.raised_by.to_string(),
            rent_payer: self.rent_payer.to_string(),
            evidence_hash: Bytes(self.evidence_hash.to_vec()),
            evidence_uri: storable(uri),
            resolution_hash: optional_hash(&self.resolution_hash),
            raised_at: time_to_db("raised_at", self.raised_at_unix_s)?,
            resolved_at: optional_time_to_db("resolved_at", self.resolved_at_unix_s)?,
            slash_amount: amount_to_db("slash amount", self.slash_amount)?,
            compensation: amount_to_db("compensation", self.compensation)?,
            outcome: i16::from(outcome as u8),
        })
    }
}

impl Mirrored for SpendingGrant {
    type Row = GrantRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<GrantRow, StoreError> {
        Ok(GrantRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            wallet: self.wallet.to_string(),
            session_key: self.session_key.to_string(),
            allowed_agents: self.allowed_agents().iter().map(Pubkey::to_string).collect(),
            // Caps may be "no limit". Money that large does not exist, so the largest bigint says the same.
            per_call_cap: saturating_to_db(self.per_call_cap),
            total_cap: saturating_to_db(self.total_cap),
            spent: amount_to_db("amount spent", self.spent)?,
            executions: saturating_to_db(self.executions),
            expires_at_unix_s: self.expires_at_unix_s,
            created_at: time_to_db("created_at", self.created_at_unix_s)?,
            revoked: bit("revoked", self.revoked)?,
        })
    }
}
