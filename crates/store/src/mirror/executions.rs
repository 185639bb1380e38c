//! On-chain records of executions. `mirror_executions`.

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use super::{
    row::{Bytes, Mirrored},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, optional_address, optional_time_to_db, saturating_to_db, time_to_db},
    error::StoreError,
};

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

mirror_table! {
    ExecutionRow, "mirror_executions", columns: [
        "execution_id" "agent" "caller" "request_hash" "refund_owner" "result_key" "rent_payer" "grant_address"
        "result_hash" "amount" "creator_amount" "platform_amount" "tokens_used" "execution_time_ms"
        "timeout_seconds" "dispute_window_s" "opened_at" "deadline_at" "finished_at" "dispute_deadline" "status"
        "failure_reason" "dispute_count"
    ],
    derived: {
        names: ", initiated_at",
        // When the gateway took the request, if it did: its row is older than the record. Not a join: without
        // statistics that reads the whole table even for a few rows.
        values: ", COALESCE((SELECT e.created_at FROM executions e WHERE e.record = r.address), r.opened_at)",
        join: "",
        update: ""
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
