//! Disputes about executions. `mirror_disputes`.

use agent_marketplace::state::Dispute;
use chrono::{DateTime, Utc};
use crtx_protocol::text::without_nul;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    row::{Bytes, Mirrored, optional_hash},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, optional_time_to_db, time_to_db},
    error::StoreError,
};

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
    pub answer_hash: Option<Bytes>,
    /// `None` before the creator has answered.
    pub answer_uri: Option<String>,
    pub answered_at: Option<DateTime<Utc>>,
    pub raised_at: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub slash_amount: i64,
    pub compensation: i64,
    pub outcome: i16,
}

mirror_table! {
    DisputeRow, "mirror_disputes", columns: [
        "execution" "agent" "raised_by" "rent_payer" "evidence_hash" "evidence_uri" "resolution_hash" "answer_hash"
        "answer_uri" "answered_at" "raised_at" "resolved_at" "slash_amount" "compensation" "outcome"
    ]
}

impl Mirrored for Dispute {
    type Row = DisputeRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<DisputeRow, StoreError> {
        let outcome = self.outcome().ok_or_else(|| StoreError::corrupt("dispute outcome", self.outcome))?;
        let uri =
            self.evidence_uri().ok_or_else(|| StoreError::corrupt("evidence URI", hex::encode(self.evidence_uri)))?;
        let answer_uri =
            self.answer_uri().ok_or_else(|| StoreError::corrupt("answer URI", hex::encode(self.answer_uri)))?;
        let answered_at = optional_time_to_db("answered_at", self.answered_at_unix_s)?;
        Ok(DisputeRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            execution: self.execution.to_string(),
            agent: self.agent.to_string(),
            raised_by: self.raised_by.to_string(),
            rent_payer: self.rent_payer.to_string(),
            evidence_hash: Bytes(self.evidence_hash.to_vec()),
            evidence_uri: without_nul(uri),
            resolution_hash: optional_hash(&self.resolution_hash),
            answer_hash: answered_at.map(|_| Bytes(self.answer_hash.to_vec())),
            answer_uri: answered_at.map(|_| without_nul(answer_uri)),
            answered_at,
            raised_at: time_to_db("raised_at", self.raised_at_unix_s)?,
            resolved_at: optional_time_to_db("resolved_at", self.resolved_at_unix_s)?,
            slash_amount: amount_to_db("slash amount", self.slash_amount)?,
            compensation: amount_to_db("compensation", self.compensation)?,
            outcome: i16::from(outcome as u8),
        })
    }
}
