//! `announce_parameters`: the admin names the next fee, prices, times and tiers, a week before they apply.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{Config, MarketParameters},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct AnnounceParametersArgs {
    /// All parameters as they will be; `None` withdraws an announcement.
    pub parameters: Option<MarketParameters>,
}

#[derive(Accounts)]
pub struct AnnounceParameters<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl AnnounceParameters<'_> {
    fn validate(&self, args: &AnnounceParametersArgs) -> Result<()> {
        ensure(self.config.read()?.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        Ok(args.parameters.as_ref().map_or(Ok(()), MarketParameters::check)?)
    }
}

/// Rules (docs/specification.md, "Parameter changes"):
/// - called by the admin;
/// - replaces an earlier announcement and restarts the delay; naming nothing withdraws it;
/// - changes nothing else before `apply_parameters`.
pub(crate) fn handler(ctx: Context<AnnounceParameters>, args: AnnounceParametersArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let mut config = ctx.accounts.config.write()?;
    config.parameters_apply_from_unix_s = if args.parameters.is_some() {
        now.checked_add(Config::PARAMETERS_DELAY_S).or_refuse(MarketplaceError::OutOfRange)?
    } else {
        0
    };
    config.announced_parameters = args.parameters.unwrap_or(Zeroable::zeroed());
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
