//! Spending grants of session keys. `mirror_grants`.

use agent_marketplace::state::SpendingGrant;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    row::{Mirrored, bit},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, saturating_to_db, time_to_db},
    error::StoreError,
};

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

mirror_table! {
    GrantRow, "mirror_grants", columns: [
        "wallet" "session_key" "allowed_agents" "per_call_cap" "total_cap" "spent" "executions" "expires_at_unix_s"
        "created_at" "revoked"
    ]
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
