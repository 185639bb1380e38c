//! `update_config`: the admin changes the gateway authority.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::Config,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct UpdateConfigArgs {
    pub gateway_authority: Pubkey,
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
        Ok(Config::check_role(&args.gateway_authority)?)
    }
}

/// Rules (docs/specification.md, "Configuration"):
/// - called by the admin; takes effect at once, because a stolen gateway key should not stay;
/// - everything else of the configuration changes by announcement, or does not change.
pub(crate) fn handler(ctx: Context<UpdateConfig>, args: UpdateConfigArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut config = ctx.accounts.config.load_mut()?;
    config.gateway_authority = args.gateway_authority;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
