//! `remove_resolver`: the admin removes the resolver at once.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::Config,
};

#[derive(Accounts)]
pub struct RemoveResolver<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl RemoveResolver<'_> {
    fn validate(&self) -> Result<()> {
        let config = self.config.read()?;
        ensure(config.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        ensure(config.resolver != Pubkey::default(), MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Role changes"):
/// - called by the admin, for a resolver whose key was stolen or lost;
/// - needs no delay, because it gives nobody a power: a successor takes office by announcement, and disputes
///   wait until then.
pub(crate) fn handler(ctx: Context<RemoveResolver>) -> Result<()> {
    ctx.accounts.validate()?;
    let mut config = ctx.accounts.config.write()?;
    // Nobody can sign as the zero address.
    config.resolver = Pubkey::default();
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
