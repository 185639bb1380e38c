//! `suspend_agent`: the emergency stop for new openings of one listing.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{AgentListed, Config},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct SuspendAgentArgs {
    pub suspended: bool,
}

#[derive(Accounts)]
pub struct SuspendAgent<'info> {
    /// The admin, or the guardian to suspend.
    pub authority: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
}

impl SuspendAgent<'_> {
    fn validate(&self, args: &SuspendAgentArgs) -> Result<()> {
        self.config.read()?.check_stopper(self.authority.key, !args.suspended)?;
        let changes = self.agent.read()?.suspended != u8::from(args.suspended);
        ensure(changes, MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Listing states"):
/// - called by the admin; the guardian may suspend, and not resume;
/// - stops new openings of this listing only: settlement, refund, dispute and withdrawal continue, and the creator may
///   edit, pause and delist it.
pub(crate) fn handler(ctx: Context<SuspendAgent>, args: SuspendAgentArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut agent = ctx.accounts.agent.write()?;
    agent.suspended = u8::from(args.suspended);
    agent.updated_at_unix_s = account::now_unix_s()?;
    agent.revision = account::next_revision(agent.revision)?;
    Ok(())
}
