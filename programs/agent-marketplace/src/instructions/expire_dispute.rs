//! `expire_dispute`: ends a dispute that the resolver did not decide in time, so that no collateral stays
//! locked.

use anchor_lang::prelude::*;

use super::shared::{
    collateral::check_vault,
    dispute::{self, OpenDisputeAccounts},
    vault::Vault,
};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Config, Dispute, DisputeOutcome, ExecutionRecord},
    token,
};

#[derive(Accounts)]
pub struct ExpireDispute<'info> {
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    #[account(mut)]
    pub dispute: AccountLoader<'info, Dispute>,
    /// CHECK: pays the bond back; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: pays a compensation; by address, against the listing's bump.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: receives bond and compensation; mint, owner and state are read from its bytes; any USDC account of the
    /// caller.
    #[account(mut)]
    pub caller_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> ExpireDispute<'info> {
    fn open(&self) -> OpenDisputeAccounts<'_, 'info> {
        OpenDisputeAccounts {
            agent: &self.agent,
            record: &self.record,
            dispute: &self.dispute,
            escrow: &self.escrow,
            bond_token: &self.caller_token,
            usdc_mint: &self.usdc_mint,
        }
    }

    /// Returns what the caller gets of the collateral.
    fn validate(&self, now_unix_s: i64) -> Result<u64> {
        let config = self.config.read()?;
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        let caller = self.record.read()?.caller;
        self.open().validate(&caller)?;
        let dispute = self.dispute.read()?;
        let decidable_until = dispute.decidable_until_unix_s().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(now_unix_s > decidable_until, MarketplaceError::DisputeStillDecidable)?;
        // Nobody could decide it, and the caller does not pay for that.
        let compensation = if config.resolver == Pubkey::default() { dispute.covered_amount } else { 0 };
        if compensation > 0 {
            check_vault(&self.collateral_vault, self.agent.as_ref().key, &*self.agent.read()?)?;
            token::check_account(&self.caller_token, self.usdc_mint.key, &caller)?;
        }
        Ok(compensation)
    }
}

/// Rules (docs/specification.md, "Dispute states"):
/// - called by anybody, 30 days after the dispute was raised, if the resolver has not decided by then;
/// - the execution is completed again and cannot be disputed a second time; the caller gets the bond back;
/// - if the admin removed the resolver and there is no other yet, the caller also gets what the collateral covers.
pub(crate) fn handler(ctx: Context<ExpireDispute>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let compensation = accounts.validate(now)?;
    let claim = accounts.open().end(DisputeOutcome::Expired, compensation, now)?;
    if compensation > 0 {
        let parameters = &accounts.config.read()?.parameters;
        dispute::take_collateral(&mut *accounts.agent.write()?, compensation, parameters)?;
    }
    let vault =
        Vault::new(accounts.agent.as_ref(), &*accounts.agent.read()?, &accounts.collateral_vault, &accounts.usdc_mint);
    vault.pay(&accounts.caller_token, compensation)?;
    accounts.open().pay_bond(&claim)
}
