//! Profiles of creators. `mirror_creators`.

use agent_marketplace::state::CreatorProfile;
use chrono::{DateTime, Utc};
use crtx_protocol::text::without_nul;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    row::{Mirrored, bit},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, optional_time_to_db, time_to_db},
    error::StoreError,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatorRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub wallet: String,
    /// Empty if the creator has set none.
    pub display_name: String,
    pub verified: bool,
    pub verified_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub next_agent_index: i64,
    pub closed_agents: i64,
    pub closed_completed_executions: i64,
    pub closed_successful_executions: i64,
    pub closed_failed_executions: i64,
    pub closed_expired_executions: i64,
    pub closed_disputed_executions: i64,
    pub closed_slashed_total: i64,
    pub closed_platform_fees_total: i64,
}

mirror_table! {
    CreatorRow, "mirror_creators", columns: [
        "wallet" "display_name" "verified" "verified_at" "created_at" "updated_at" "next_agent_index" "closed_agents"
        "closed_completed_executions" "closed_successful_executions" "closed_failed_executions"
        "closed_expired_executions" "closed_disputed_executions" "closed_slashed_total" "closed_platform_fees_total"
    ]
}

impl Mirrored for CreatorProfile {
    type Row = CreatorRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<CreatorRow, StoreError> {
        let display_name =
            self.display_name().ok_or_else(|| StoreError::corrupt("display name", hex::encode(self.display_name)))?;
        let closed = |total| amount_to_db("total of closed agents", total);
        Ok(CreatorRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            wallet: self.wallet.to_string(),
            display_name: without_nul(display_name),
            verified: bit("verified", self.verified)?,
            verified_at: optional_time_to_db("verified_at", self.verified_at_unix_s)?,
            created_at: time_to_db("created_at", self.created_at_unix_s)?,
            updated_at: time_to_db("updated_at", self.updated_at_unix_s)?,
            next_agent_index: i64::from(self.next_agent_index),
            closed_agents: closed(self.closed.agents)?,
            closed_completed_executions: closed(self.closed.completed_executions)?,
            closed_successful_executions: closed(self.closed.successful_executions)?,
            closed_failed_executions: closed(self.closed.failed_executions)?,
            closed_expired_executions: closed(self.closed.expired_executions)?,
            closed_disputed_executions: closed(self.closed.disputed_executions)?,
            closed_slashed_total: closed(self.closed.slashed_total)?,
            closed_platform_fees_total: closed(self.closed.platform_fees_total)?,
        })
    }
}
