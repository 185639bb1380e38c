//! `refund_expired_execution`: after the deadline anybody can refund the caller.

use anchor_lang::prelude::*;

use super::shared::escrow::EscrowAccounts;
use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::{AgentListing, Config, ExecutionRecord},
    token,
};

#[derive(Accounts)]
pub struct RefundExpiredExecution<'info> {
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListing>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    /// CHECK: pays the refund; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes; any USDC account of the recorded wallet.
    #[account(mut)]
    pub refund_token: UncheckedAccount<'info>,
    pub config: AccountLoader<'info, Config>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> RefundExpiredExecution<'info> {
    #[inline(always)]
    fn escrow(&self) -> EscrowAccounts<'_, 'info> {
        EscrowAccounts::new(&self.config, &self.agent, &self.record, &self.escrow, &self.usdc_mint)
    }

    #[inline(always)]
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        self.escrow().validate()?;
        ensure(now_unix_s > self.record.load()?.deadline_unix_s, MarketplaceError::DeadlineNotPassed)?;
        self.escrow().check_refund_payee(&self.refund_token)
    }
}

/// Rules (docs/specification.md, "Escrow and refund"):
/// - called by anybody, when the deadline has passed, paused or not;
/// - the caller gets the whole price back; nobody is paid.
pub(crate) fn handler(ctx: Context<RefundExpiredExecution>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(now)?;
    accounts.escrow().expire(&accounts.refund_token, now)
}
