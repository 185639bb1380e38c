//! `refund_expired_execution`: after the deadline anybody can refund the caller.

use anchor_lang::prelude::*;

use super::shared::escrow::{EscrowAccounts, RefundAccounts};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{AgentListed, Config, ExecutionRecord, ExecutionStatus, FailureReason, SpendingGrant},
    token,
};

#[derive(Accounts)]
pub struct RefundExpiredExecution<'info> {
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    /// CHECK: gets rent back; by address, against the record.
    #[account(mut)]
    pub rent_payer: UncheckedAccount<'info>,
    /// CHECK: pays the refund; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes; the wallet's associated account or the one that paid, or
    /// any USDC account of the wallet if it signs.
    #[account(mut)]
    pub refund_token: UncheckedAccount<'info>,
    /// The grant that the execution was opened with, if it was: it gets back what it had spent.
    #[account(mut)]
    pub grant: Option<AccountLoader<'info, SpendingGrant>>,
    /// The wallet that paid. It need not sign; if it does, it may name any USDC account of its own.
    pub wallet: Option<Signer<'info>>,
    pub config: AccountLoader<'info, Config>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> RefundExpiredExecution<'info> {
    #[inline(always)]
    fn refund(&self) -> RefundAccounts<'_, 'info> {
        RefundAccounts {
            escrow: EscrowAccounts::new(
                &self.config,
                &self.agent,
                &self.record,
                &self.rent_payer,
                &self.escrow,
                &self.usdc_mint,
            ),
            refund_token: &self.refund_token,
            grant: self.grant.as_ref(),
            wallet_signed: self.wallet_signed(),
        }
    }

    /// Whether the recorded wallet signed.
    #[inline(always)]
    fn wallet_signed(&self) -> bool {
        let Some(wallet) = &self.wallet else { return false };
        self.record.read().is_ok_and(|record| record.caller == *wallet.key)
    }

    #[inline(always)]
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        let deadline_unix_s = self.refund().validate(now_unix_s)?;
        ensure(now_unix_s > deadline_unix_s, MarketplaceError::DeadlineNotPassed)
    }
}

/// Rules (docs/specification.md, "Escrow and refund"):
/// - called by anybody, when the deadline has passed, paused or not;
/// - the caller gets the whole price back, in the associated token account or the one that paid, or in any of the
///   wallet if the refund is overdue by a dispute window; nobody is paid;
/// - does not count as a failure of the agent: an execution expires also if nobody asked the agent.
pub(crate) fn handler(ctx: Context<RefundExpiredExecution>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(now)?;
    accounts.refund().refund(ExecutionStatus::Expired, FailureReason::Expired, false, now)
}
