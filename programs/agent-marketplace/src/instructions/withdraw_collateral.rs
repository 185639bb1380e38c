//! `withdraw_collateral`: the collateral, minus slashes, returns to the creator.

use anchor_lang::prelude::*;

use super::shared::{collateral, vault::Vault};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Config},
    token,
};

#[derive(Accounts)]
pub struct WithdrawCollateral<'info> {
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    /// CHECK: pays; by address, against the listing's bump.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: receives the collateral; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl WithdrawCollateral<'_> {
    /// Returns what the creator gets.
    fn validate(&self, now_unix_s: i64) -> Result<u64> {
        ensure(*self.usdc_mint.key == self.config.read()?.usdc_mint, MarketplaceError::WrongMint)?;
        let agent = self.agent.read()?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        collateral::check_left(&agent, now_unix_s)?;
        ensure(agent.collateral > 0, MarketplaceError::NoCollateral)?;
        collateral::check_vault(&self.collateral_vault, self.agent.as_ref().key, &agent)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, self.creator.key)?;
        let amount = agent.unslashable_collateral();
        ensure(amount > 0, MarketplaceError::DisputesOpen)?;
        Ok(amount)
    }
}

/// Rules (docs/specification.md, "Collateral"):
/// - called by the creator, when the agent is delisted, no execution is open and the last dispute window is over;
/// - pays the collateral, minus slashes, and minus the most that open disputes may still take; the rest later.
pub(crate) fn handler(ctx: Context<WithdrawCollateral>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let amount = accounts.validate(now)?;
    {
        let mut agent = accounts.agent.write()?;
        agent.updated_at_unix_s = now;
        agent.revision = account::next_revision(agent.revision)?;
        agent.collateral = agent.collateral.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
    }
    let vault =
        Vault::new(accounts.agent.as_ref(), &*accounts.agent.read()?, &accounts.collateral_vault, &accounts.usdc_mint);
    vault.pay(&accounts.creator_token, amount)
}
