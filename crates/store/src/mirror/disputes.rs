//! Disputes about executions. `mirror_disputes`.

use agent_marketplace::state::Dispute;
use crtx_protocol::text::without_nul;
use serde_json::{Value, json};

use super::row::{MirrorTable, Mirrored, bytes, optional_time, time};
use crate::{convert::amount_to_db, error::StoreError};

pub static TABLE: MirrorTable = MirrorTable::new("mirror_disputes", &[]);

impl Mirrored for Dispute {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let outcome = self.outcome().ok_or_else(|| StoreError::corrupt("dispute outcome", self.outcome))?;
        let uri =
            self.evidence_uri().ok_or_else(|| StoreError::corrupt("evidence URI", hex::encode(self.evidence_uri)))?;
        let answer_uri =
            self.answer_uri().ok_or_else(|| StoreError::corrupt("answer URI", hex::encode(self.answer_uri)))?;
        let answered_at = optional_time("answered_at", self.answered_at_unix_s)?;
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "execution": self.execution.to_string(),
            "agent": self.agent.to_string(),
            "raised_by": self.raised_by.to_string(),
            "rent_payer": self.rent_payer.to_string(),
            "evidence_hash": bytes(&self.evidence_hash),
            "evidence_uri": without_nul(uri),
            // The program stores zeros if there is none.
            "resolution_hash": (self.resolution_hash != [0; 32]).then(|| bytes(&self.resolution_hash)),
            "answer_hash": answered_at.as_ref().map(|_| bytes(&self.answer_hash)),
            "answer_uri": answered_at.as_ref().map(|_| without_nul(answer_uri)),
            "answered_at": answered_at,
            "raised_at": time("raised_at", self.raised_at_unix_s)?,
            "resolved_at": optional_time("resolved_at", self.resolved_at_unix_s)?,
            "slash_amount": amount_to_db("slash amount", self.slash_amount)?,
            "compensation": amount_to_db("compensation", self.compensation)?,
            "outcome": outcome as u8,
        });
        Ok((&TABLE, columns))
    }
}
