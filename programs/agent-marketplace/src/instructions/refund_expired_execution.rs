//! `refund_expired_execution`: after the deadline anybody can refund the caller.

use anchor_lang::prelude::*;

use super::shared::escrow::{EscrowAccounts, OpenCall, RefundAccounts};
use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::{ExecutionStatus, FailureReason, SpendingGrant},
    token,
};

#[derive(Accounts)]
pub struct RefundExpiredExecution<'info> {
    /// CHECK: owner, type and version are checked by loading it.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
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
    /// CHECK: owner, type and version are checked by loading it.
    pub config: UncheckedAccount<'info>,
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
            signer: self.wallet.as_ref().map(|wallet| wallet.key),
        }
    }

    #[inline(always)]
    fn validate(&self, now_unix_s: i64) -> Result<OpenCall<'_>> {
        let call = self.refund().validate(now_unix_s)?;
        ensure(now_unix_s > call.open.terms.deadline_unix_s, MarketplaceError::DeadlineNotPassed)?;
        Ok(call)
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
    let call = accounts.validate(now)?;
    accounts.refund().refund(call, ExecutionStatus::Expired, FailureReason::Expired, false, now)
}
