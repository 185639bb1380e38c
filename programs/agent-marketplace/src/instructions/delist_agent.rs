//! `delist_agent`: a creator removes an agent from the market permanently.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{AgentListed, AgentStatus},
};

#[derive(Accounts)]
pub struct DelistAgent<'info> {
    pub creator: Signer<'info>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
}

impl DelistAgent<'_> {
    fn validate(&self) -> Result<()> {
        let agent = self.agent.read()?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        ensure(agent.status != AgentStatus::Delisted as u8, MarketplaceError::AgentDelisted)
    }
}

/// Rules (docs/specification.md, "Listing states"):
/// - called by the creator; open executions settle or are refunded as before.
pub(crate) fn handler(ctx: Context<DelistAgent>) -> Result<()> {
    ctx.accounts.validate()?;
    let mut agent = ctx.accounts.agent.write()?;
    agent.status = AgentStatus::Delisted as u8;
    agent.updated_at_unix_s = account::now_unix_s()?;
    agent.revision = account::next_revision(agent.revision)?;
    Ok(())
}
