//! Profiles of creators. `mirror_creators`.

use agent_marketplace::state::CreatorProfile;
use crtx_protocol::text::without_nul;
use serde_json::{Value, json};

use super::row::{MirrorTable, Mirrored, bit, optional_time, time};
use crate::{convert::amount_to_db, error::StoreError};

pub static TABLE: MirrorTable = MirrorTable::new("mirror_creators", &[]);

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
            "verified": bit("verified", self.verified)?,
            "verified_at": optional_time("verified_at", self.verified_at_unix_s)?,
            "created_at": time("created_at", self.created_at_unix_s)?,
            "updated_at": time("updated_at", self.updated_at_unix_s)?,
            "next_agent_index": self.next_agent_index,
            "closed_agents": closed(self.closed.agents)?,
            "closed_completed_executions": closed(self.closed.completed_executions)?,
            "closed_successful_executions": closed(self.closed.successful_executions)?,
            "closed_failed_executions": closed(self.closed.failed_executions)?,
            "closed_expired_executions": closed(self.closed.expired_executions)?,
            "closed_disputed_executions": closed(self.closed.disputed_executions)?,
            "closed_slashed_total": closed(self.closed.slashed_total)?,
            "closed_platform_fees_total": closed(self.closed.platform_fees_total)?,
        });
        Ok((&TABLE, columns))
    }
}
