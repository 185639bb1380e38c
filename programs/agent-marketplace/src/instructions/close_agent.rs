//! `close_agent`: a delisted agent's accounts go and their rent comes back.

use anchor_lang::prelude::*;

use super::collateral::{Vault, check_unclaimed, check_vault};
use crate::{
    account,
    error::{MarketplaceError, ensure},
    event::AgentClosed,
    state::{AgentListing, Config},
    token,
};

#[event_cpi]
#[derive(Accounts)]
pub struct CloseAgent<'info> {
    /// Gets all rent back.
    #[account(mut)]
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    /// CHECK: owner and discriminator are checked by loading it; closed here.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing's bump.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes. Gets what strangers sent to the vaults.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl CloseAgent<'_> {
    fn validate(&self, agent: &AgentListing, now_unix_s: i64) -> Result<()> {
        ensure(*self.usdc_mint.key == self.config.load()?.usdc_mint, MarketplaceError::WrongMint)?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        check_unclaimed(agent, now_unix_s)?;
        // Else a listing made anew in this second would count its revisions from where this one began.
        ensure(now_unix_s > agent.created_at_unix_s, MarketplaceError::ListedThisSecond)?;
        ensure(agent.collateral == 0, MarketplaceError::CollateralRemains)?;
        ensure(*self.escrow.key == agent.escrow, MarketplaceError::WrongEscrow)?;
        check_vault(&self.collateral_vault, self.agent.key, agent)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, self.creator.key)
    }
}

/// Specification (3.2):
/// - called by the creator, under the conditions of `withdraw_collateral`, after the withdrawal,
///   and not in the second it was listed in;
/// - dust in the vaults goes to the creator, so it never keeps an account alive;
/// - emits the listing as it last was.
pub(crate) fn handler<'info>(ctx: Context<'info, CloseAgent<'info>>) -> Result<()> {
    let now = account::now_unix_s()?;
    let event = close(ctx.accounts, now)?;
    emit_cpi!(event);
    Ok(())
}

fn close<'info>(accounts: &'info CloseAgent<'info>, now_unix_s: i64) -> Result<AgentClosed> {
    let agent = AccountLoader::<AgentListing>::try_from(&accounts.agent)?;
    accounts.validate(&*agent.load()?, now_unix_s)?;
    for account in [&accounts.escrow, &accounts.collateral_vault] {
        let vault = Vault { agent: &agent, account, usdc_mint: &accounts.usdc_mint };
        vault.empty_and_close(&accounts.creator_token, &accounts.creator)?;
    }
    let agent_data = accounts.agent.try_borrow_data()?.to_vec();
    account::close(&accounts.agent, &accounts.creator)?;
    Ok(AgentClosed { agent: *accounts.agent.key, agent_data, closed_at_unix_s: now_unix_s })
}
