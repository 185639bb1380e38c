//! `set_paused`: the emergency stop for new listings and for new openings.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::Config,
};

/// `None` keeps the present state.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, Default)]
pub struct SetPausedArgs {
    pub openings: Option<bool>,
    pub listings: Option<bool>,
}

#[derive(Accounts)]
pub struct SetPaused<'info> {
    /// The admin, or the guardian to stop.
    pub authority: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl SetPaused<'_> {
    fn validate(&self, args: &SetPausedArgs) -> Result<()> {
        let config = self.config.read()?;
        let resumes = args.openings == Some(false) || args.listings == Some(false);
        config.check_stopper(self.authority.key, resumes)?;
        let changes = |wanted: Option<bool>, now: u8| wanted.is_some_and(|wanted| u8::from(wanted) != now);
        ensure(
            changes(args.openings, config.openings_paused) || changes(args.listings, config.listings_paused),
            MarketplaceError::NothingToChange,
        )
    }
}

/// Rules (docs/specification.md, "Configuration"):
/// - called by the admin; the guardian may stop, and not resume;
/// - stops new listings and openings only: settlement, refund, dispute and withdrawal continue.
pub(crate) fn handler(ctx: Context<SetPaused>, args: SetPausedArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut config = ctx.accounts.config.write()?;
    config.openings_paused = args.openings.map_or(config.openings_paused, u8::from);
    config.listings_paused = args.listings.map_or(config.listings_paused, u8::from);
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
