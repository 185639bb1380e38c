//! On-chain records of executions. `mirror_executions`.

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus, OpenTerms};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use super::{
    row::{Bytes, Mirrored, bit},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, optional_address, optional_amount_to_db, optional_time_to_db, time_to_db},
    error::StoreError,
};

/// An execution as its account holds it.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionAccount {
    pub record: ExecutionRecord,
    /// `Some` while the execution is open. The program drops them when it ends.
    pub terms: Option<OpenTerms>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub execution_id: Uuid,
    pub agent: String,
    pub caller: String,
    pub rent_payer: String,
    pub result_hash: Option<Bytes>,
    pub amount: i64,
    pub creator_amount: i64,
    pub platform_amount: i64,
    pub tokens_used: Option<i64>,
    pub execution_time_ms: i64,
    pub dispute_window_s: i64,
    pub fee_bps: i32,
    pub max_penalty_multiple: i16,
    pub binding: bool,
    pub settled_by: Option<i16>,
    pub opened_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub dispute_deadline: Option<DateTime<Utc>>,
    pub status: i16,
    pub failure_reason: Option<i16>,
    pub dispute_count: i16,
    // The open terms; null if the mirror never saw the record open.
    pub request_hash: Option<Bytes>,
    pub result_key: Option<String>,
    pub grant_address: Option<String>,
    pub paid_from: Option<String>,
    pub deadline_at: Option<DateTime<Utc>>,
    pub timeout_seconds: Option<i64>,
}

impl ExecutionRow {
    /// Takes the open terms over from another state of the same execution. A record that was closed and opened again
    /// is another execution.
    fn keep_terms(&mut self, other: &Self) {
        if self.opened_at == other.opened_at && self.deadline_at.is_none() {
            self.request_hash.clone_from(&other.request_hash);
            self.result_key.clone_from(&other.result_key);
            self.grant_address.clone_from(&other.grant_address);
            self.paid_from.clone_from(&other.paid_from);
            self.deadline_at = other.deadline_at;
            self.timeout_seconds = other.timeout_seconds;
        }
    }
}

mirror_table! {
    ExecutionRow, "mirror_executions", columns: [
        "execution_id" "agent" "caller" "rent_payer" "result_hash" "amount" "creator_amount" "platform_amount"
        "tokens_used" "execution_time_ms" "dispute_window_s" "fee_bps" "max_penalty_multiple" "binding" "settled_by"
        "opened_at" "finished_at" "dispute_deadline" "status" "failure_reason" "dispute_count"
    ],
    dropped: {
        columns: ["request_hash" "result_key" "grant_address" "paid_from" "deadline_at" "timeout_seconds"],
        keep: ExecutionRow::keep_terms,
        same: "t.opened_at = excluded.opened_at"
    },
    derived: {
        names: ", initiated_at",
        // When the gateway took the request, if it did: its row is older than the record. Not a join: without
        // statistics that reads the whole table even for a few rows.
        values: ", COALESCE((SELECT e.created_at FROM executions e WHERE e.record = r.address), r.opened_at)",
        join: "",
        update: ""
    }
}

impl Mirrored for ExecutionAccount {
    type Row = ExecutionRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<ExecutionRow, StoreError> {
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
        Ok(ExecutionRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", record.revision)?,
            execution_id: Uuid::from_bytes(record.execution_id),
            agent: record.agent.to_string(),
            caller: record.caller.to_string(),
            rent_payer: record.rent_payer.to_string(),
            result_hash: settled.then(|| Bytes(record.result_hash.to_vec())),
            amount: amount_to_db("amount", record.amount)?,
            creator_amount: amount_to_db("creator amount", split.creator)?,
            platform_amount: amount_to_db("platform amount", split.platform)?,
            tokens_used: optional_amount_to_db("tokens used", record.reported_tokens())?,
            execution_time_ms: i64::from(record.execution_time_ms),
            dispute_window_s: i64::from(record.dispute_window_s),
            fee_bps: i32::from(record.fee_bps),
            max_penalty_multiple: i16::from(record.max_penalty_multiple),
            binding: bit("binding", record.binding)?,
            settled_by: record.settled_by().map(|settler| i16::from(settler as u8)),
            opened_at: time_to_db("opened_at", record.opened_at_unix_s)?,
            finished_at: optional_time_to_db("finished_at", record.finished_at_unix_s)?,
            dispute_deadline: record
                .dispute_deadline_unix_s()
                .map(|deadline| time_to_db("dispute deadline", deadline))
                .transpose()?,
            status: i16::from(status as u8),
            failure_reason: record.failure_reason().map(|reason| i16::from(reason as u8)),
            dispute_count: i16::from(record.dispute_count),
            request_hash: terms.map(|terms| Bytes(terms.request_hash.to_vec())),
            result_key: terms.map(|terms| terms.result_key.to_string()),
            grant_address: terms.and_then(|terms| optional_address(&terms.grant)),
            paid_from: terms.map(|terms| terms.paid_from.to_string()),
            deadline_at: terms.map(|terms| time_to_db("deadline", terms.deadline_unix_s)).transpose()?,
            timeout_seconds: terms.map(|terms| i64::from(terms.timeout_seconds)),
        })
    }
}
