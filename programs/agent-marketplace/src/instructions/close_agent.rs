//! `close_agent`: closes the accounts of a delisted agent and returns their rent.

use anchor_lang::prelude::*;

use super::shared::{collateral, profile, vault::Vault};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    event::AgentClosed,
    state::{AgentListed, Config, CreatorProfile},
    token,
};

#[event_cpi]
#[derive(Accounts)]
pub struct CloseAgent<'info> {
    /// Receives all rent.
    #[account(mut)]
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    /// CHECK: at its canonical address; keeps the totals of the agent.
    #[account(mut)]
    pub profile: UncheckedAccount<'info>,
    /// CHECK: owner and discriminator are checked by loading it; closed here.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing's bump.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: receives what strangers sent to the vaults; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> CloseAgent<'info> {
    /// Returns the listing, which signs for its token accounts, and the creator's profile as it will be.
    fn validate(&'info self, now_unix_s: i64) -> Result<(AccountLoader<'info, AgentListed>, CreatorProfile)> {
        let loader = AccountLoader::<AgentListed>::try_from(&self.agent)?;
        let agent = loader.read()?;
        ensure(*self.usdc_mint.key == self.config.read()?.usdc_mint, MarketplaceError::WrongMint)?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        collateral::check_left(&agent, now_unix_s)?;
        ensure(agent.open_disputes == 0, MarketplaceError::DisputesOpen)?;
        // A listing that is created again in the same second would start with the revisions of this one.
        ensure(now_unix_s > agent.created_at_unix_s, MarketplaceError::ListedThisSecond)?;
        ensure(agent.collateral == 0, MarketplaceError::CollateralRemains)?;
        ensure(*self.escrow.key == agent.escrow, MarketplaceError::WrongEscrow)?;
        collateral::check_vault(&self.collateral_vault, self.agent.key, &agent)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, self.creator.key)?;
        let mut profile = profile::present_or_new(&self.profile, self.creator.key, now_unix_s)?;
        profile.closed = profile.closed.with(&agent).or_refuse(MarketplaceError::OutOfRange)?;
        drop(agent);
        Ok((loader, profile))
    }
}

/// Rules (docs/specification.md, "Collateral"):
/// - called by the creator, under the conditions of `withdraw_collateral`, when all collateral is withdrawn and no dispute
///   is open, and not in the second in which the agent was listed;
/// - what strangers sent to the vaults goes to the creator, so it never blocks the closing;
/// - the creator's profile keeps the totals; emits the last content of the listing.
pub(crate) fn handler<'info>(ctx: Context<'info, CloseAgent<'info>>) -> Result<()> {
    let accounts: &'info CloseAgent<'info> = ctx.accounts;
    let now = account::now_unix_s()?;
    let (agent, profile) = accounts.validate(now)?;
    account::write(&accounts.profile, &profile)?;
    for account in [&accounts.escrow, &accounts.collateral_vault] {
        let vault = Vault::new(&accounts.agent, &*agent.read()?, account, &accounts.usdc_mint);
        vault.empty_and_close(&accounts.creator_token, &accounts.creator)?;
    }
    let agent_data = accounts.agent.try_borrow_data()?.to_vec();
    account::close(&accounts.agent, &accounts.creator)?;
    emit_cpi!(AgentClosed { agent: *accounts.agent.key, agent_data, closed_at_unix_s: now });
    Ok(())
}
