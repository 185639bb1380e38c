//! `accept_admin`: the nominee becomes the admin. Second of two steps.

use anchor_lang::prelude::*;

use crate::{
    account,
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
        ensure(self.config.load()?.pending_admin == *self.nominee.key, MarketplaceError::NotNominee)
    }
}

/// Rules (docs/specification.md, "Role changes"):
/// - called by the nominee, whose signature proves that the address can sign.
pub(crate) fn handler(ctx: Context<AcceptAdmin>) -> Result<()> {
    ctx.accounts.validate()?;
    let mut config = ctx.accounts.config.load_mut()?;
    config.admin = *ctx.accounts.nominee.key;
    config.pending_admin = Pubkey::default();
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
