//! Listings of agents. `mirror_agents`.

use agent_marketplace::state::AgentListed;
use crtx_protocol::text::without_nul;
use serde_json::{Value, json};

use super::row::{MirrorTable, Mirrored, bit, bytes, optional_time, time};
use crate::{
    convert::{amount_to_db, saturating_to_db},
    error::StoreError,
};

pub static TABLE: MirrorTable = MirrorTable::new("mirror_agents", &[]);

impl Mirrored for AgentListed {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let status = self.status().ok_or_else(|| StoreError::corrupt("listing status", self.status))?;
        let uri =
            self.metadata_uri().ok_or_else(|| StoreError::corrupt("metadata URI", hex::encode(self.metadata_uri)))?;
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "creator": self.creator.to_string(),
            "agent_index": self.index,
            "result_key": self.result_key.to_string(),
            "metadata_hash": bytes(&self.metadata_hash),
            "metadata_uri": without_nul(uri),
            "terms_hash": bytes(&self.terms_hash),
            "binding": bit("binding", self.binding)?,
            "price": amount_to_db("price", self.price)?,
            "collateral": amount_to_db("collateral", self.collateral)?,
            "slashed_total": amount_to_db("slashed total", self.slashed_total)?,
            "open_amount": amount_to_db("open amount", self.open_amount)?,
            "disputed_amount": amount_to_db("disputed amount", self.disputed_amount)?,
            "total_executions": amount_to_db("total executions", self.total_executions)?,
            "successful_executions": amount_to_db("successful executions", self.successful_executions)?,
            "failed_executions": amount_to_db("failed executions", self.failed_executions)?,
            "expired_executions": amount_to_db("expired executions", self.expired_executions)?,
            "disputed_executions": amount_to_db("disputed executions", self.disputed_executions)?,
            "completed_executions": amount_to_db("completed executions", self.completed_executions)?,
            // A sum of what settling parties reported.
            "execution_time_ms_total": saturating_to_db(self.execution_time_ms_total),
            "platform_fees_total": amount_to_db("platform fees", self.platform_fees_total)?,
            "timeout_seconds": self.timeout_seconds,
            "open_executions": self.open_executions,
            "open_disputes": self.open_disputes,
            "status": status as u8,
            "created_at": time("created_at", self.created_at_unix_s)?,
            "updated_at": time("updated_at", self.updated_at_unix_s)?,
            "last_dispute_deadline": optional_time("dispute deadline", self.last_dispute_deadline_unix_s)?,
        });
        Ok((&TABLE, columns))
    }
}
