//! `accept_admin`: the nominee becomes the admin. Second of two steps.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::Config,
};

#[derive(Accounts)]
pub struct AcceptAdmin<'info> {
    pub nominee: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl AcceptAdmin<'_> {
    fn validate(&self) -> Result<()> {
        ensure(self.config.read()?.pending_admin == *self.nominee.key, MarketplaceError::NotNominee)
    }
}

/// Rules (docs/specification.md, "Role changes"):
/// - called by the nominee, whose signature proves that the address can sign;
/// - refused if the nominee is the resolver, the gateway, the treasury's owner or the guardian.
pub(crate) fn handler(ctx: Context<AcceptAdmin>) -> Result<()> {
    ctx.accounts.validate()?;
    let mut config = ctx.accounts.config.write()?;
    config.admin = *ctx.accounts.nominee.key;
    config.pending_admin = Pubkey::default();
    config.check_roles_apart()?;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
