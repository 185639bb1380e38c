//! `set_agent_status`: a creator pauses or reactivates an agent.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure, refuse},
    state::{AgentListed, AgentStatus, Config},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct SetAgentStatusArgs {
    /// `Active` or `Paused`.
    pub status: AgentStatus,
}

#[derive(Accounts)]
pub struct SetAgentStatus<'info> {
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
}

impl SetAgentStatus<'_> {
    fn validate(&self, args: &SetAgentStatusArgs) -> Result<()> {
        let agent = self.agent.read()?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        ensure(agent.status != AgentStatus::Delisted as u8, MarketplaceError::AgentDelisted)?;
        ensure(agent.status != args.status as u8, MarketplaceError::NothingToChange)?;
        match args.status {
            AgentStatus::Active => {
                let required = self.config.read()?.parameters.required_collateral(agent.price, agent.min_cover);
                ensure(agent.free_collateral() >= required, MarketplaceError::CollateralTooLow)
            }
            AgentStatus::Paused => Ok(()),
            AgentStatus::Delisted => refuse(MarketplaceError::StatusNotSettable),
        }
    }
}

/// Rules (docs/specification.md, "Listing states"):
/// - called by the creator; executions in progress are unaffected;
/// - a delisted agent stays delisted;
/// - only an agent that has the collateral of its price beyond what open disputes claim can become active.
pub(crate) fn handler(ctx: Context<SetAgentStatus>, args: SetAgentStatusArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut agent = ctx.accounts.agent.write()?;
    agent.status = args.status as u8;
    agent.updated_at_unix_s = account::now_unix_s()?;
    agent.revision = account::next_revision(agent.revision)?;
    Ok(())
}
