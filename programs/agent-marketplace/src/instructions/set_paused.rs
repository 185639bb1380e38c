//! `set_paused`: the emergency stop for new listings and openings.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::Config,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct SetPausedArgs {
    pub paused: bool,
}

#[derive(Accounts)]
pub struct SetPaused<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl SetPaused<'_> {
    fn validate(&self, args: &SetPausedArgs) -> Result<()> {
        let config = self.config.load()?;
        ensure(config.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        ensure(config.paused != u8::from(args.paused), MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Configuration"):
/// - called by the admin;
/// - stops new listings and openings only: settlement, refund, dispute and withdrawal continue.
pub(crate) fn handler(ctx: Context<SetPaused>, args: SetPausedArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut config = ctx.accounts.config.load_mut()?;
    config.paused = u8::from(args.paused);
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
