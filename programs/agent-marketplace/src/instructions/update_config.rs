//! `update_config`: the admin changes the gateway authority, fee, durations and tiers.

use anchor_lang::prelude::*;

use super::initialize_config::{check_durations, check_fee, check_role, check_tiers};
use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::{COLLATERAL_TIERS, CollateralTier, Config},
};

/// What is `None` stays.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, Default)]
pub struct UpdateConfigArgs {
    pub gateway_authority: Option<Pubkey>,
    pub fee_bps: Option<u16>,
    pub dispute_window_s: Option<i64>,
    pub settle_grace_s: Option<i64>,
    pub collateral_tiers: Option<[CollateralTier; COLLATERAL_TIERS]>,
}

#[derive(Accounts)]
pub struct UpdateConfig<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl UpdateConfig<'_> {
    fn validate(&self) -> Result<()> {
        ensure(self.config.load()?.admin == *self.admin.key, MarketplaceError::NotAdmin)
    }
}

/// Specification:
/// - called by the admin; takes effect at once;
/// - the mint never changes, the admin only by nomination and acceptance, resolver and treasury owner only
///   by announcement;
/// - open executions keep their split, deadline and dispute window.
pub(crate) fn handler(ctx: Context<UpdateConfig>, args: UpdateConfigArgs) -> Result<()> {
    ctx.accounts.validate()?;
    let mut config = ctx.accounts.config.load_mut()?;
    config.gateway_authority = args.gateway_authority.unwrap_or(config.gateway_authority);
    config.fee_bps = args.fee_bps.unwrap_or(config.fee_bps);
    config.dispute_window_s = args.dispute_window_s.unwrap_or(config.dispute_window_s);
    config.settle_grace_s = args.settle_grace_s.unwrap_or(config.settle_grace_s);
    config.collateral_tiers = args.collateral_tiers.unwrap_or(config.collateral_tiers);
    check_role(&config.gateway_authority)?;
    check_fee(config.fee_bps)?;
    check_durations(config.dispute_window_s, config.settle_grace_s)?;
    check_tiers(&config.collateral_tiers)?;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
