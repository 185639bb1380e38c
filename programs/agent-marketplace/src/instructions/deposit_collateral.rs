//! `deposit_collateral`: a creator adds to an agent's collateral.

use anchor_lang::prelude::*;

use super::shared::collateral::check_vault;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, AgentStatus, Config},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct DepositCollateralArgs {
    /// USDC base units.
    pub amount: u64,
}

#[derive(Accounts)]
pub struct DepositCollateral<'info> {
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    /// CHECK: receives the deposit; by address, against the listing's bump.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: pays the deposit; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl DepositCollateral<'_> {
    fn validate(&self, args: &DepositCollateralArgs) -> Result<()> {
        ensure(*self.usdc_mint.key == self.config.read()?.usdc_mint, MarketplaceError::WrongMint)?;
        let agent = self.agent.read()?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        ensure(agent.status != AgentStatus::Delisted as u8, MarketplaceError::AgentDelisted)?;
        ensure(args.amount > 0, MarketplaceError::AmountZero)?;
        check_vault(&self.collateral_vault, self.agent.as_ref().key, &agent)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, self.creator.key)
    }
}

/// Rules (docs/specification.md, "Collateral"):
/// - called by the creator, also while the program or the agent is paused: a slashed agent needs the deposit
///   before it can be active again.
pub(crate) fn handler(ctx: Context<DepositCollateral>, args: DepositCollateralArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    {
        let mut agent = accounts.agent.write()?;
        agent.collateral = agent.collateral.checked_add(args.amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now;
        agent.revision = account::next_revision(agent.revision)?;
    }
    let (from, to) = (&accounts.creator_token, &accounts.collateral_vault);
    token::transfer(from, &accounts.usdc_mint, to, &accounts.creator, args.amount, &[])
}
