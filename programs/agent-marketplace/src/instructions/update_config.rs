//! `update_config`: the admin changes the gateway authority, fee, durations and tiers.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::{COLLATERAL_TIERS, CollateralTier, Config},
};

/// `None` keeps the present value.
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
    fn validate(&self, args: &UpdateConfigArgs) -> Result<()> {
        ensure(self.config.load()?.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        args.gateway_authority.as_ref().map_or(Ok(()), Config::check_role)?;
        args.fee_bps.map_or(Ok(()), Config::check_fee)?;
        args.dispute_window_s.map_or(Ok(()), Config::check_dispute_window)?;
        args.settle_grace_s.map_or(Ok(()), Config::check_settle_grace)?;
        args.collateral_tiers.as_ref().map_or(Ok(()), Config::check_tiers)?;
        Ok(())
    }
}

/// Rules (docs/specification.md, "Configuration"):
/// - called by the admin; takes effect at once;
/// - the mint never changes, the admin only by nomination and acceptance, resolver and treasury owner only
///   by announcement;
/// - open executions keep their split, deadline and dispute window.
pub(crate) fn handler(ctx: Context<UpdateConfig>, args: UpdateConfigArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut config = ctx.accounts.config.load_mut()?;
    config.gateway_authority = args.gateway_authority.unwrap_or(config.gateway_authority);
    config.fee_bps = args.fee_bps.unwrap_or(config.fee_bps);
    config.dispute_window_s = args.dispute_window_s.unwrap_or(config.dispute_window_s);
    config.settle_grace_s = args.settle_grace_s.unwrap_or(config.settle_grace_s);
    config.collateral_tiers = args.collateral_tiers.unwrap_or(config.collateral_tiers);
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
