//! Listings of agents. `mirror_agents`.

use agent_marketplace::state::AgentListed;
use chrono::{DateTime, Utc};
use crtx_protocol::text::without_nul;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    row::{Bytes, Mirrored, bit},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, optional_time_to_db, saturating_to_db, time_to_db},
    error::StoreError,
};

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
    pub terms_hash: Bytes,
    pub binding: bool,
    pub price: i64,
    pub collateral: i64,
    pub slashed_total: i64,
    pub open_amount: i64,
    pub disputed_amount: i64,
    pub total_executions: i64,
    pub successful_executions: i64,
    pub failed_executions: i64,
    pub expired_executions: i64,
    pub disputed_executions: i64,
    pub completed_executions: i64,
    pub execution_time_ms_total: i64,
    pub platform_fees_total: i64,
    pub timeout_seconds: i64,
    pub open_executions: i64,
    pub open_disputes: i64,
    pub status: i16,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_dispute_deadline: Option<DateTime<Utc>>,
}

mirror_table! {
    AgentRow, "mirror_agents", columns: [
        "creator" "agent_index" "result_key" "metadata_hash" "metadata_uri" "terms_hash" "binding" "price" "collateral"
        "slashed_total" "open_amount" "disputed_amount" "total_executions" "successful_executions" "failed_executions"
        "expired_executions" "disputed_executions" "completed_executions" "execution_time_ms_total"
        "platform_fees_total" "timeout_seconds" "open_executions" "open_disputes" "status" "created_at" "updated_at"
        "last_dispute_deadline"
    ],
    derived: {
        names: ", name, tagline, tags",
        values: ", m.name, m.tagline, m.tags",
        // OFFSET 0: each row reads its document by key. Without statistics, a plain join reads the whole table even for
        // a few rows.
        join: " LEFT JOIN LATERAL (
             SELECT d.name, d.tagline, d.tags FROM agent_metadata d
             WHERE d.agent = r.address AND d.sha256 = r.metadata_hash AND d.error IS NULL OFFSET 0) m ON true",
        // The stored values stay as long as the hash is the same: a document may be stored while the statement runs.
        update: ",
             name = CASE WHEN t.metadata_hash = excluded.metadata_hash THEN COALESCE(t.name, excluded.name)
                    ELSE excluded.name END,
             tagline = CASE WHEN t.metadata_hash = excluded.metadata_hash THEN COALESCE(t.tagline, excluded.tagline)
                       ELSE excluded.tagline END,
             tags = CASE WHEN t.metadata_hash = excluded.metadata_hash THEN COALESCE(t.tags, excluded.tags)
                    ELSE excluded.tags END"
    }
}

impl Mirrored for AgentListed {
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
            metadata_uri: without_nul(uri),
            terms_hash: Bytes(self.terms_hash.to_vec()),
            binding: bit("binding", self.binding)?,
            price: amount_to_db("price", self.price)?,
            collateral: amount_to_db("collateral", self.collateral)?,
            slashed_total: amount_to_db("slashed total", self.slashed_total)?,
            open_amount: amount_to_db("open amount", self.open_amount)?,
            disputed_amount: amount_to_db("disputed amount", self.disputed_amount)?,
            total_executions: amount_to_db("total executions", self.total_executions)?,
            successful_executions: amount_to_db("successful executions", self.successful_executions)?,
            failed_executions: amount_to_db("failed executions", self.failed_executions)?,
            expired_executions: amount_to_db("expired executions", self.expired_executions)?,
            disputed_executions: amount_to_db("disputed executions", self.disputed_executions)?,
            completed_executions: amount_to_db("completed executions", self.completed_executions)?,
            // A sum of what settling parties reported.
            execution_time_ms_total: saturating_to_db(self.execution_time_ms_total),
            platform_fees_total: amount_to_db("platform fees", self.platform_fees_total)?,
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
