//! `complete_execution`: a signed result releases the escrow.

use anchor_lang::prelude::*;
use crtx_protocol::{
    call_text::{self, OpeningId},
    fee::Split,
    result_text,
};

use super::shared::escrow::{EscrowAccounts, OpenCall};
use crate::{
    account,
    ed25519_gate::{self, INSTRUCTIONS_SYSVAR_ID},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{ExecutionRecord, ExecutionStatus, OpenRecord, Settler},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct CompleteExecutionArgs {
    /// SHA-256 of the result; its text form is what the creator signed.
    pub result_hash: [u8; 32],
    /// Wall-clock time from dispatch to result delivery. At most what passed on chain since the opening is stored.
    pub execution_time_ms: u64,
    /// At most 1 000 000 000; `None` if the creator's service did not report them.
    pub tokens_used: Option<u64>,
}

#[derive(Accounts)]
pub struct CompleteExecution<'info> {
    /// The creator, the caller or the gateway.
    pub authority: Signer<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    pub config: UncheckedAccount<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: owner, type and version are checked by loading it.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: gets rent back; by address, against the record.
    #[account(mut)]
    pub rent_payer: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: receives the creator's part; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: receives the platform's part; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub treasury_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = INSTRUCTIONS_SYSVAR_ID @ MarketplaceError::WrongInstructionsSysvar)]
    pub instructions_sysvar: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> CompleteExecution<'info> {
    #[inline(always)]
    fn escrow(&self) -> EscrowAccounts<'_, 'info> {
        EscrowAccounts::new(&self.config, &self.agent, &self.record, &self.rent_payer, &self.escrow, &self.usdc_mint)
    }

    #[inline(always)]
    fn validate(&self, args: &CompleteExecutionArgs, now_unix_s: i64) -> Result<(OpenCall<'_>, Payout)> {
        let call = self.escrow().validate()?;
        let (config, agent, OpenRecord { record, terms }) = (&*call.config, &*call.agent, &*call.open);
        let authority = *self.authority.key;
        let settled_by = if authority == record.caller {
            Settler::Caller
        } else if authority == agent.creator {
            Settler::Creator
        } else {
            ensure(authority == config.gateway_authority, MarketplaceError::NotSettler)?;
            Settler::Gateway
        };
        terms.check_settled_in_time(now_unix_s)?;
        let tokens_used = args.tokens_used.map_or(Ok(0), ExecutionRecord::stored_tokens)?;
        let split = record.split().or_refuse(MarketplaceError::OutOfRange)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, &agent.creator)?;
        if split.platform > 0 {
            token::check_account(&self.treasury_token, self.usdc_mint.key, &config.treasury_owner)?;
        }

        if record.binding == 0 {
            let message = result_text::of(&args.result_hash);
            ed25519_gate::check(&self.instructions_sysvar, &terms.result_key, &message)?;
        } else {
            let record_address = self.record.key.to_bytes();
            let opening = OpeningId { record: record_address, opened_at_unix_s: record.opened_at_unix_s };
            let message = call_text::of(&opening, &args.result_hash);
            ed25519_gate::check(&self.instructions_sysvar, &terms.result_key, &message)?;
        }
        // What passed on chain is the upper bound. Refusing a longer time would block the payment of a creator whenever
        // the chain's clock is behind the settler's.
        let elapsed_ms = record.elapsed_ms(now_unix_s).or_refuse(MarketplaceError::OutOfRange)?;
        let execution_time_ms = u32::try_from(args.execution_time_ms.min(elapsed_ms)).ok();
        let dispute_deadline = record.window_end_unix_s(now_unix_s);
        let payout = Payout {
            split,
            settled_by,
            tokens_used,
            execution_time_ms: execution_time_ms.or_refuse(MarketplaceError::OutOfRange)?,
            dispute_deadline_unix_s: dispute_deadline.or_refuse(MarketplaceError::OutOfRange)?,
        };
        Ok((call, payout))
    }
}

/// Records the result and counts it.
#[inline(always)]
fn record_result(mut call: OpenCall, args: &CompleteExecutionArgs, payout: &Payout, now_unix_s: i64) -> Result<()> {
    call.end(ExecutionStatus::Completed, now_unix_s)?;
    let (record, agent) = (&mut call.open.record, &mut *call.agent);
    record.result_hash = args.result_hash;
    record.settled_by = payout.settled_by as u8;
    record.execution_time_ms = payout.execution_time_ms;
    record.tokens_used = payout.tokens_used;
    record.tokens_reported = u8::from(args.tokens_used.is_some());
    let add = |total: u64, more: u64| total.checked_add(more).or_refuse(MarketplaceError::OutOfRange);
    agent.successful_executions = add(agent.successful_executions, 1)?;
    agent.completed_executions = add(agent.completed_executions, 1)?;
    agent.total_executions = add(agent.total_executions, 1)?;
    agent.platform_fees_total = add(agent.platform_fees_total, payout.split.platform)?;
    // Who settles alone, settles when it suits: the gateway measured from dispatch to delivery.
    if payout.settled_by == Settler::Gateway {
        agent.execution_time_ms_total = add(agent.execution_time_ms_total, u64::from(payout.execution_time_ms))?;
        agent.timed_executions = add(agent.timed_executions, 1)?;
    }
    agent.last_dispute_deadline_unix_s = agent.last_dispute_deadline_unix_s.max(payout.dispute_deadline_unix_s);
    Ok(())
}

/// What a settlement pays, and until when it can be disputed.
struct Payout {
    split: Split,
    settled_by: Settler,
    tokens_used: u32,
    execution_time_ms: u32,
    dispute_deadline_unix_s: i64,
}

/// Rules (docs/specification.md, "Signature proof on chain"):
/// - called by the creator, the caller or the gateway, in a transaction whose instruction directly before
///   is the Ed25519 program's proof that the execution's result key signed `result_hash`, or signed it for this call
///   if the execution is bound;
/// - until the deadline, once;
/// - records who settled;
/// - pays creator and treasury the parts that were fixed at opening; the treasury's account is only checked
///   if it receives something.
pub(crate) fn handler(ctx: Context<CompleteExecution>, args: CompleteExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let (call, payout) = accounts.validate(&args, now)?;
    let escrow = accounts.escrow();
    let vault = escrow.vault(&call.agent);
    record_result(call, &args, &payout, now)?;
    vault.pay_each(&[
        (&accounts.creator_token, payout.split.creator),
        (&accounts.treasury_token, payout.split.platform),
    ])?;
    escrow.drop_open_terms()
}
