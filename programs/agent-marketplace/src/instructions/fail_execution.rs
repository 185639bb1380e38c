//! `fail_execution`: refunds a failed call at once.

use anchor_lang::prelude::*;

use super::shared::escrow::EscrowAccounts;
use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::{AgentListing, Config, ExecutionRecord, FailureReason},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct FailExecutionArgs {
    /// Any reason except `Expired`, which only the clock decides.
    pub reason: FailureReason,
}

#[derive(Accounts)]
pub struct FailExecution<'info> {
    /// The creator or the gateway.
    pub authority: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListing>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes; any USDC account of the recorded wallet.
    #[account(mut)]
    pub refund_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> FailExecution<'info> {
    #[inline(always)]
    fn escrow(&self) -> EscrowAccounts<'_, 'info> {
        EscrowAccounts::new(&self.config, &self.agent, &self.record, &self.escrow, &self.usdc_mint)
    }

    fn validate(&self, args: &FailExecutionArgs) -> Result<()> {
        self.escrow().validate()?;
        let authority = *self.authority.key;
        ensure(
            authority == self.config.load()?.gateway_authority || authority == self.agent.load()?.creator,
            MarketplaceError::NotFailureReporter,
        )?;
        ensure(args.reason != FailureReason::Expired, MarketplaceError::FailureReasonReserved)?;
        self.escrow().check_refund_payee(&self.refund_token)
    }
}

/// Rules (docs/specification.md, "Escrow and refund"):
/// - called by the creator or the gateway, while the execution is open, before or after its deadline;
/// - the caller gets the whole price back; nobody is paid.
pub(crate) fn handler(ctx: Context<FailExecution>, args: FailExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    accounts.escrow().fail(&accounts.refund_token, args.reason, now)
}
