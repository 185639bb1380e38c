//! `remove_resolver`: the admin takes the resolver's role away, at once.

use anchor_lang::prelude::*;

use crate::{
    account,
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
        let config = self.config.load()?;
        ensure(config.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        ensure(config.resolver != Pubkey::default(), MarketplaceError::NothingToChange)
    }
}

/// Specification:
/// - called by the admin: for a resolver whose key was stolen or lost;
/// - takes a power away and gives none, so it needs no delay: the successor takes office by announcement,
///   disputes wait meanwhile.
pub(crate) fn handler(ctx: Context<RemoveResolver>) -> Result<()> {
    ctx.accounts.validate()?;
    let mut config = ctx.accounts.config.load_mut()?;
    // Nobody can sign as the zero address.
    config.resolver = Pubkey::default();
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
