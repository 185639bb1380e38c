//! The marketplace's configuration: one account, one row. `mirror_config`.

use agent_marketplace::state::Config;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::{
    row::{Mirrored, bit},
    table::mirror_table,
};
use crate::{
    convert::{amount_to_db, optional_address, optional_time_to_db, time_to_db},
    error::StoreError,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigRow {
    pub address: String,
    pub slot: i64,
    pub revision: i64,
    pub admin: String,
    pub pending_admin: Option<String>,
    /// `None` while there is no resolver.
    pub resolver: Option<String>,
    pub gateway_authority: String,
    pub treasury_owner: String,
    pub usdc_mint: String,
    pub announced_resolver: Option<String>,
    pub announced_treasury_owner: Option<String>,
    pub roles_apply_from: Option<DateTime<Utc>>,
    pub resolver_since: DateTime<Utc>,
    pub dispute_window_s: i64,
    pub settle_grace_s: i64,
    pub collateral_tiers: Vec<TierRow>,
    pub fee_bps: i32,
    pub paused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierRow {
    pub max_price: u64,
    pub collateral: u64,
}

mirror_table! {
    ConfigRow, "mirror_config", columns: [
        "admin" "pending_admin" "resolver" "gateway_authority" "treasury_owner" "usdc_mint" "announced_resolver"
        "announced_treasury_owner" "roles_apply_from" "resolver_since" "dispute_window_s" "settle_grace_s"
        "collateral_tiers" "fee_bps" "paused"
    ]
}

impl Mirrored for Config {
    type Row = ConfigRow;

    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<ConfigRow, StoreError> {
        Ok(ConfigRow {
            address: address.to_string(),
            slot: amount_to_db("slot", slot)?,
            revision: amount_to_db("revision", self.revision)?,
            admin: self.admin.to_string(),
            pending_admin: optional_address(&self.pending_admin),
            resolver: optional_address(&self.resolver),
            gateway_authority: self.gateway_authority.to_string(),
            treasury_owner: self.treasury_owner.to_string(),
            usdc_mint: self.usdc_mint.to_string(),
            announced_resolver: optional_address(&self.announced_resolver),
            announced_treasury_owner: optional_address(&self.announced_treasury_owner),
            roles_apply_from: optional_time_to_db("roles_apply_from", self.roles_apply_from_unix_s)?,
            resolver_since: time_to_db("resolver_since", self.resolver_since_unix_s)?,
            dispute_window_s: self.dispute_window_s,
            settle_grace_s: self.settle_grace_s,
            collateral_tiers: self
                .collateral_tiers
                .iter()
                .map(|tier| TierRow { max_price: tier.max_price, collateral: tier.collateral })
                .collect(),
            fee_bps: i32::from(self.fee_bps),
            paused: bit("paused", self.paused)?,
        })
    }
}
