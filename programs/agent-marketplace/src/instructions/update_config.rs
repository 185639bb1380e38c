//! `update_config`: the admin changes the gateway authority or the guardian.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::Config,
};

/// `None` keeps the present one.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, Default)]
pub struct UpdateConfigArgs {
    pub gateway_authority: Option<Pubkey>,
    /// The zero address removes the guardian.
    pub guardian: Option<Pubkey>,
}

#[derive(Accounts)]
pub struct UpdateConfig<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl UpdateConfig<'_> {
    fn validate(&self, args: &UpdateConfigArgs) -> Result<()> {
        ensure(self.config.read()?.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        args.gateway_authority.as_ref().map_or(Ok(()), Config::check_role)?;
        ensure(args.gateway_authority.is_some() || args.guardian.is_some(), MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Configuration"):
/// - called by the admin; takes effect at once, because a stolen key should not stay;
/// - no key has two of the roles that check each other;
/// - everything else of the configuration changes by announcement, or does not change.
pub(crate) fn handler(ctx: Context<UpdateConfig>, args: UpdateConfigArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut config = ctx.accounts.config.write()?;
    config.gateway_authority = args.gateway_authority.unwrap_or(config.gateway_authority);
    config.guardian = args.guardian.unwrap_or(config.guardian);
    config.check_roles_apart()?;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
