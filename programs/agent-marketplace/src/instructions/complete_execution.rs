//! `complete_execution`: a signed result releases the escrow.

use anchor_lang::{
    prelude::*,
    solana_program::instruction::{TRANSACTION_LEVEL_STACK_HEIGHT, get_stack_height},
};

use super::shared::escrow::EscrowAccounts;
use crate::{
    account,
    ed25519_gate::{self, INSTRUCTIONS_SYSVAR_ID},
    error::{MarketplaceError, OrRefuse, ensure},
    id::ID,
    state::{AgentListing, Config, ExecutionRecord, ExecutionStatus},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct CompleteExecutionArgs {
    /// SHA-256 of the result; its text form is what the creator signed.
    pub result_hash: [u8; 32],
    /// Wall-clock time from dispatch to result delivery.
    pub execution_time_ms: u64,
    /// `None` if the creator's service did not report them.
    pub tokens_used: Option<u64>,
}

#[derive(Accounts)]
pub struct CompleteExecution<'info> {
    /// The creator, the caller or the gateway.
    pub authority: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListing>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
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
        EscrowAccounts::new(&self.config, &self.agent, &self.record, &self.escrow, &self.usdc_mint)
    }

    #[inline(always)]
    fn validate(&self, args: &CompleteExecutionArgs, now_unix_s: i64) -> Result<Payout> {
        self.escrow().validate()?;
        let (config, agent, record) = (self.config.load()?, self.agent.load()?, self.record.load()?);
        let authority = *self.authority.key;
        ensure(
            authority == config.gateway_authority || authority == agent.creator || authority == record.caller,
            MarketplaceError::NotSettler,
        )?;
        record.check_settled_in_time(now_unix_s)?;
        record.check_execution_time(args.execution_time_ms)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, &agent.creator)?;
        if record.platform_amount > 0 {
            token::check_account(&self.treasury_token, self.usdc_mint.key, &config.treasury_owner)?;
        }

        ensure(get_stack_height() == TRANSACTION_LEVEL_STACK_HEIGHT, MarketplaceError::CalledByProgram)?;
        let sysvar = self.instructions_sysvar.try_borrow_data()?;
        ed25519_gate::check(&sysvar, &ID, &record.result_key, &args.result_hash)?;
        let dispute_deadline = record.window_end_unix_s(now_unix_s);
        Ok(Payout {
            amount: record.amount,
            creator_amount: record.creator_amount,
            platform_amount: record.platform_amount,
            dispute_deadline_unix_s: dispute_deadline.or_refuse(MarketplaceError::OutOfRange)?,
        })
    }

    /// The record leaves `Open` permanently.
    #[inline(always)]
    fn record_result(&self, args: &CompleteExecutionArgs, payout: &Payout, now_unix_s: i64) -> Result<()> {
        let mut record = self.record.load_mut()?;
        record.status = ExecutionStatus::Completed as u8;
        record.result_hash = args.result_hash;
        record.execution_time_ms = args.execution_time_ms;
        if let Some(tokens) = args.tokens_used {
            record.tokens_used = tokens;
            record.tokens_reported = 1;
        }
        record.finished_at_unix_s = now_unix_s;
        record.dispute_deadline_unix_s = payout.dispute_deadline_unix_s;
        record.revision = account::next_revision(record.revision)?;
        Ok(())
    }

    #[inline(always)]
    fn count(&self, args: &CompleteExecutionArgs, payout: &Payout, now_unix_s: i64) -> Result<()> {
        let mut agent = self.agent.load_mut()?;
        EscrowAccounts::release(&mut agent, payout.amount, now_unix_s)?;
        let add = |total: u64, more: u64| total.checked_add(more).or_refuse(MarketplaceError::OutOfRange);
        agent.successful_executions = add(agent.successful_executions, 1)?;
        agent.completed_executions = add(agent.completed_executions, 1)?;
        agent.execution_time_ms_total = add(agent.execution_time_ms_total, args.execution_time_ms)?;
        agent.last_dispute_deadline_unix_s = agent.last_dispute_deadline_unix_s.max(payout.dispute_deadline_unix_s);
        Ok(())
    }
}

/// What a settlement pays, and until when it can be disputed.
struct Payout {
    amount: u64,
    creator_amount: u64,
    platform_amount: u64,
    dispute_deadline_unix_s: i64,
}

/// Rules (docs/specification.md, "Signature proof on chain"):
/// - called by the creator, the caller or the gateway, in a transaction whose instruction directly before
///   is the Ed25519 program's proof that the execution's result key signed `result_hash`;
/// - until the deadline, once;
/// - pays creator and treasury the parts that were fixed at opening; the treasury's account is only checked
///   if it receives something.
pub(crate) fn handler(ctx: Context<CompleteExecution>, args: CompleteExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let payout = accounts.validate(&args, now)?;
    accounts.record_result(&args, &payout, now)?;
    accounts.count(&args, &payout, now)?;
    let escrow = accounts.escrow();
    escrow.pay(&accounts.creator_token, payout.creator_amount)?;
    escrow.pay(&accounts.treasury_token, payout.platform_amount)
}
