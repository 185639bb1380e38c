//! The marketplace's configuration: one account, one row. `mirror_config`. `reads/configuration.rs` reads it.

use agent_marketplace::state::{CollateralTier, Config, MarketParameters};
use serde::Serialize;
use serde_json::{Value, json};

use super::row::{MirrorTable, Mirrored, bit, optional_time, time};
use crate::{
    convert::{amount_to_db, optional_address},
    error::StoreError,
};

pub static TABLE: MirrorTable = MirrorTable::new("mirror_config", &[]);

#[derive(Clone, Serialize)]
struct TierRow {
    max_price: u64,
    collateral: u64,
}

impl From<CollateralTier> for TierRow {
    fn from(tier: CollateralTier) -> Self {
        Self { max_price: tier.max_price, collateral: tier.collateral }
    }
}

/// Announced parameters, as one JSON value: nobody selects by them.
#[derive(Serialize)]
struct ParametersRow {
    min_price: u64,
    dispute_window_s: i64,
    settle_grace_s: i64,
    collateral_tiers: Vec<TierRow>,
    fee_bps: u32,
    max_penalty_multiple: u32,
}

impl From<&MarketParameters> for ParametersRow {
    fn from(parameters: &MarketParameters) -> Self {
        Self {
            min_price: parameters.min_price,
            dispute_window_s: parameters.dispute_window_s,
            settle_grace_s: parameters.settle_grace_s,
            collateral_tiers: parameters.collateral_tiers.map(TierRow::from).to_vec(),
            fee_bps: parameters.fee_bps,
            max_penalty_multiple: parameters.max_penalty_multiple,
        }
    }
}

impl Mirrored for Config {
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value), StoreError> {
        let parameters_apply_from = optional_time("parameters_apply_from", self.parameters_apply_from_unix_s)?;
        let columns = json!({
            "revision": amount_to_db("revision", self.revision)?,
            "admin": self.admin.to_string(),
            "pending_admin": optional_address(&self.pending_admin),
            "resolver": optional_address(&self.resolver),
            "gateway_authority": self.gateway_authority.to_string(),
            "treasury_owner": self.treasury_owner.to_string(),
            "insurance_owner": self.insurance_owner.to_string(),
            "usdc_mint": self.usdc_mint.to_string(),
            "announced_resolver": optional_address(&self.announced_resolver),
            "announced_treasury_owner": optional_address(&self.announced_treasury_owner),
            "announced_insurance_owner": optional_address(&self.announced_insurance_owner),
            "roles_apply_from": optional_time("roles_apply_from", self.roles_apply_from_unix_s)?,
            "resolver_since": time("resolver_since", self.resolver_since_unix_s)?,
            "min_price": amount_to_db("minimum price", self.parameters.min_price)?,
            "dispute_window_s": self.parameters.dispute_window_s,
            "settle_grace_s": self.parameters.settle_grace_s,
            "collateral_tiers": self.parameters.collateral_tiers.map(TierRow::from),
            "fee_bps": self.parameters.fee_bps,
            "max_penalty_multiple": self.parameters.max_penalty_multiple,
            "announced_parameters":
                parameters_apply_from.as_ref().map(|_| ParametersRow::from(&self.announced_parameters)),
            "parameters_apply_from": parameters_apply_from,
            "paused": bit("paused", self.paused)?,
        });
        Ok((&TABLE, columns))
    }
}
