//! Spending grants of session keys. `mirror_grants`.

use agent_marketplace::state::SpendingGrant;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use super::row::{MirrorTable, Mirrored, bit, time};
use crate::{
    convert::{amount_to_db, saturating_to_db},
    error::StoreError,
};

pub static TABLE: MirrorTable = MirrorTable::new("mirror_grants", &[]);

impl Mirrored for SpendingGrant {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "wallet": self.wallet.to_string(),
            "session_key": self.session_key.to_string(),
            "allowed_agents": self.allowed_agents().iter().map(Pubkey::to_string).collect::<Vec<_>>(),
            // Caps may be "no limit". Money that large does not exist, so the largest bigint says the same.
            "per_call_cap": saturating_to_db(self.per_call_cap),
            "total_cap": saturating_to_db(self.total_cap),
            "spent": amount_to_db("amount spent", self.spent)?,
            "executions": saturating_to_db(self.executions),
            "expires_at_unix_s": self.expires_at_unix_s,
            "created_at": time("created_at", self.created_at_unix_s)?,
            "revoked": bit("revoked", self.revoked)?,
        });
        Ok((&TABLE, columns))
    }
}
