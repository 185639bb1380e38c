//! The marketplace's configuration, as the mirror has it.

use agent_marketplace::state::Config;
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Deserializer, Serialize};
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;

use crate::{
    columns::{Timestamp, base_units},
    error::StoreError,
};

#[expect(clippy::cast_precision_loss, reason = "a week")]
const ANNOUNCEMENT_LIFE_S: f64 = Config::ANNOUNCEMENT_LIFE_S as f64;

/// The configuration: a row of `mirror_config`.
#[derive(Clone, Debug, Deserialize)]
pub struct Configuration {
    #[serde(flatten)]
    pub roles: NetworkRoles,
    pub usdc_mint: String,
    pub announced_roles: Option<AnnouncedRoles>,
    #[serde(flatten)]
    pub parameters: NetworkParameters,
    pub announced_parameters: Option<AnnouncedParameters>,
    pub openings_paused: bool,
    pub listings_paused: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NetworkRoles {
    pub admin: String,
    /// null: nobody is nominated.
    #[schema(required)]
    pub pending_admin: Option<String>,
    /// null: there is none at present.
    #[schema(required)]
    pub resolver: Option<String>,
    pub resolver_since: Timestamp,
    pub gateway_authority: String,
    pub treasury_owner: String,
    pub insurance_owner: String,
    /// May stop new calls and listings, and not resume them. null: there is none.
    #[schema(required)]
    pub guardian: Option<String>,
}

/// Successors; null where a role does not change.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnnouncedRoles {
    #[schema(required)]
    pub resolver: Option<String>,
    #[schema(required)]
    pub treasury_owner: Option<String>,
    #[schema(required)]
    pub insurance_owner: Option<String>,
    /// First second in which they can be applied.
    pub apply_from: Timestamp,
    /// From then on they cannot be applied any more.
    pub lapses_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnnouncedParameters {
    #[serde(flatten)]
    pub parameters: NetworkParameters,
    /// First second in which they can be applied.
    pub apply_from: Timestamp,
    /// From then on they cannot be applied any more.
    pub lapses_at: Timestamp,
}

// The aliases are the names in the database.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NetworkParameters {
    /// The marketplace's part of a payment, in basis points.
    pub fee_bps: u64,
    /// Lowest price of a call.
    #[schema(value_type = f64)]
    #[serde(alias = "min_price", deserialize_with = "base_units")]
    pub min_price_usdc: UsdcBase,
    /// What a caller deposits to raise a dispute.
    #[schema(value_type = f64)]
    #[serde(alias = "dispute_bond", deserialize_with = "base_units")]
    pub dispute_bond_usdc: UsdcBase,
    /// Seconds after completion in which a dispute may be raised.
    #[serde(alias = "dispute_window_s")]
    pub dispute_window_seconds: i64,
    /// Seconds that settlement may take after a time-out.
    #[serde(alias = "settle_grace_s")]
    pub settle_grace_seconds: i64,
    /// Most that a penalty takes, in multiples of the amount paid.
    pub max_penalty_multiple: u64,
    /// Collateral by price, ascending.
    #[serde(deserialize_with = "tiers")]
    pub collateral_tiers: Vec<CollateralTierAnswer>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CollateralTierAnswer {
    /// Highest price of the tier. null: every higher price.
    #[schema(required, value_type = Option<f64>)]
    #[serde(alias = "max_price", deserialize_with = "some_base_units")]
    pub max_price_usdc: Option<UsdcBase>,
    /// A listing also holds at least its price.
    #[schema(value_type = f64)]
    #[serde(alias = "collateral", deserialize_with = "base_units")]
    pub collateral_usdc: UsdcBase,
}

fn some_base_units<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UsdcBase>, D::Error> {
    base_units(deserializer).map(Some)
}

/// The last tier holds for every higher price, whatever price it names.
fn tiers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CollateralTierAnswer>, D::Error> {
    let mut tiers = Vec::<CollateralTierAnswer>::deserialize(deserializer)?;
    if let Some(last) = tiers.last_mut() {
        last.max_price_usdc = None;
    }
    Ok(tiers)
}

/// The configuration. `None` before the mirror has it.
pub async fn configuration(executor: impl PgExecutor<'_>) -> Result<Option<Configuration>, StoreError> {
    let row = sqlx::query_scalar!(
        r#"SELECT to_jsonb(c) || jsonb_build_object(
                      'announced_roles', CASE WHEN roles_apply_from IS NOT NULL THEN jsonb_build_object(
                          'resolver', announced_resolver, 'treasury_owner', announced_treasury_owner,
                          'insurance_owner', announced_insurance_owner, 'apply_from', roles_apply_from,
                          'lapses_at', roles_apply_from + make_interval(secs => $1)) END,
                      'announced_parameters', announced_parameters || jsonb_build_object(
                          'apply_from', parameters_apply_from,
                          'lapses_at', parameters_apply_from + make_interval(secs => $1)))
                  AS "row!: Json<Configuration>"
           FROM mirror_config c WHERE closed_at_slot IS NULL ORDER BY slot DESC LIMIT 1"#,
        ANNOUNCEMENT_LIFE_S,
    );
    Ok(row.fetch_optional(executor).await?.map(|Json(row)| row))
}
