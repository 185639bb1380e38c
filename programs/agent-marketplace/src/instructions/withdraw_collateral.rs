//! `withdraw_collateral`: the collateral, minus slashes, returns to the creator.

use anchor_lang::prelude::*;

use super::shared::{collateral, vault::Vault};
use crate::{
    account,
    error::{MarketplaceError, ensure},
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
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        ensure(*self.usdc_mint.key == self.config.load()?.usdc_mint, MarketplaceError::WrongMint)?;
        let agent = self.agent.load()?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        collateral::check_unclaimed(&agent, now_unix_s)?;
        ensure(agent.collateral > 0, MarketplaceError::NoCollateral)?;
        collateral::check_vault(&self.collateral_vault, self.agent.as_ref().key, &agent)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, self.creator.key)
    }
}

/// Rules (docs/specification.md, "Collateral"):
/// - called by the creator, when the agent is delisted, no execution and no dispute is open and the last
///   dispute window is over;
/// - pays the whole collateral, minus slashes.
pub(crate) fn handler(ctx: Context<WithdrawCollateral>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(now)?;
    let amount = {
        let mut agent = accounts.agent.load_mut()?;
        agent.updated_at_unix_s = now;
        agent.revision = account::next_revision(agent.revision)?;
        core::mem::take(&mut agent.collateral)
    };
    let vault = Vault { agent: &accounts.agent, account: &accounts.collateral_vault, usdc_mint: &accounts.usdc_mint };
    vault.pay(&accounts.creator_token, amount)
}
