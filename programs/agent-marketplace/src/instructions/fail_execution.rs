//! `fail_execution`: refunds a failed call at once.

use anchor_lang::prelude::*;
use crtx_protocol::{call_text::OpeningId, failure_text};

use super::shared::escrow::{EscrowAccounts, OpenCall, RefundAccounts};
use crate::{
    account,
    ed25519_gate::{self, INSTRUCTIONS_SYSVAR_ID},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{ExecutionStatus, FailureReason, SpendingGrant},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct FailExecutionArgs {
    /// Any reason except `Expired`, which only the clock decides. `Interrupted`, which does not count as a failure of
    /// the agent, is for the gateway only.
    pub reason: FailureReason,
    /// Whether the instruction directly before is the Ed25519 program's proof that the execution's result key signed this
    /// failure (docs/specification.md, "Signed failure").
    pub signed: bool,
}

#[derive(Accounts)]
pub struct FailExecution<'info> {
    /// The creator or the gateway.
    pub authority: Signer<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    pub config: UncheckedAccount<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: by address, against the record; gets the rent of the dropped terms back.
    #[account(mut)]
    pub rent_payer: UncheckedAccount<'info>,
    /// CHECK: pays the refund; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes; the wallet's associated account or the one that paid.
    #[account(mut)]
    pub refund_token: UncheckedAccount<'info>,
    /// The grant that the execution was opened with, if it was: it gets back what it had spent.
    #[account(mut)]
    pub grant: Option<AccountLoader<'info, SpendingGrant>>,
    /// CHECK: by address; only for a signed failure.
    #[account(address = INSTRUCTIONS_SYSVAR_ID @ MarketplaceError::WrongInstructionsSysvar)]
    pub instructions_sysvar: Option<UncheckedAccount<'info>>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> FailExecution<'info> {
    #[inline(always)]
    fn refund(&self) -> RefundAccounts<'_, 'info> {
        RefundAccounts {
            signer: None,
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
        }
    }

    /// Returns also whether the failure counts against the agent.
    fn validate(&self, args: &FailExecutionArgs, now_unix_s: i64) -> Result<(OpenCall<'_>, bool)> {
        let call = self.refund().validate(now_unix_s)?;
        let authority = *self.authority.key;
        let is_gateway = authority == call.config.gateway_authority;
        ensure(is_gateway || authority == call.agent.creator, MarketplaceError::NotFailureReporter)?;
        let allowed = match args.reason {
            FailureReason::CreatorFailed | FailureReason::Timeout | FailureReason::InvalidResponse => true,
            FailureReason::Interrupted => is_gateway,
            FailureReason::Expired => false,
        };
        ensure(allowed, MarketplaceError::FailureReasonReserved)?;
        if !is_gateway {
            ensure(!args.signed, MarketplaceError::FailureProofMisplaced)?;
            return Ok((call, true));
        }
        if args.signed {
            ensure(args.reason == FailureReason::CreatorFailed, MarketplaceError::FailureProofMisplaced)?;
            self.check_signature(&call)?;
            return Ok((call, true));
        }
        let timed_out = args.reason == FailureReason::Timeout && call.is_timed_out(now_unix_s);
        Ok((call, timed_out))
    }

    /// The result key of the execution signed its failure.
    fn check_signature(&self, call: &OpenCall) -> Result<()> {
        let sysvar = self.instructions_sysvar.as_ref().or_refuse(MarketplaceError::WrongInstructionsSysvar)?;
        let record = self.record.key.to_bytes();
        let opening = OpeningId { record, opened_at_unix_s: call.open.record.opened_at_unix_s };
        ed25519_gate::check(sysvar, &call.open.terms.result_key, &failure_text::of(&opening))
    }
}

/// Rules (docs/specification.md, "Escrow and refund"):
/// - called by the creator or the gateway, while the execution is open, before or after its deadline;
/// - the caller gets the whole price back, in the associated token account or the one that paid, or in any of the
///   wallet if the refund is overdue by a dispute window; nobody is paid;
/// - counts as a failure of the agent if the creator reports it, if the result key signed it, or if the agent's time-out
///   has passed on chain; what the gateway alone says counts in no rate.
pub(crate) fn handler(ctx: Context<FailExecution>, args: FailExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let (call, agents_failure) = accounts.validate(&args, now)?;
    accounts.refund().refund(call, ExecutionStatus::Failed, args.reason, agents_failure, now)
}
