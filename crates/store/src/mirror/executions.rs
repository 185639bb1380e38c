//! On-chain records of executions. `mirror_executions`.

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus, OpenTerms};
use serde_json::{Value, json};
use uuid::Uuid;

use super::row::{MirrorTable, Mirrored, bit, bytes, optional_time, time};
use crate::{
    convert::{amount_to_db, optional_address, optional_amount_to_db},
    error::StoreError,
};

pub static TABLE: MirrorTable = MirrorTable::new(
    "mirror_executions",
    // When the gateway took the request, if it did: its row is older than the record. Not a join: without statistics that
    // reads the whole table even for a few rows.
    &[("initiated_at", "COALESCE((SELECT e.created_at FROM executions e WHERE e.record = r.address), r.opened_at)")],
);

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
        let dispute_deadline = record.dispute_deadline_unix_s();
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
            "opened_at": time("opened_at", record.opened_at_unix_s)?,
            "finished_at": optional_time("finished_at", record.finished_at_unix_s)?,
            "dispute_deadline": dispute_deadline.map(|deadline| time("dispute deadline", deadline)).transpose()?,
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
        Ok((&TABLE, columns))
    }
}
