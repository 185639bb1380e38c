//! `complete_execution`: a signed result releases the escrow.

use anchor_lang::{
    prelude::*,
    solana_program::instruction::{TRANSACTION_LEVEL_STACK_HEIGHT, get_stack_height},
};

use super::escrow::Escrow;
use crate::{
    account,
    ed25519_gate::{self, INSTRUCTIONS_SYSVAR_ID},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListing, Config, ExecutionRecord, ExecutionStatus},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct CompleteExecutionArgs {
    /// SHA-256 of the result; its text form is what the creator signed.
    pub result_hash: [u8; 32],
    /// Wall-clock time from dispatch to result delivery.
    pub execution_time_ms: u64,
    /// If the creator's service reported them.
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
    /// CHECK: mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes.
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
    fn escrow(&self) -> Escrow<'_, 'info> {
        Escrow {
            config: &self.config,
            agent: &self.agent,
            record: &self.record,
            escrow: &self.escrow,
            usdc_mint: &self.usdc_mint,
        }
    }

    #[inline(always)]
    fn validate(&self, args: &CompleteExecutionArgs, now_unix_s: i64) -> Result<()> {
        self.escrow().validate()?;
        let (config, agent, record) = (self.config.load()?, self.agent.load()?, self.record.load()?);
        let authority = *self.authority.key;
        ensure(
            authority == config.gateway_authority || authority == agent.creator || authority == record.caller,
            MarketplaceError::NotSettler,
        )?;
        ensure(now_unix_s <= record.deadline_unix_s, MarketplaceError::DeadlinePassed)?;
        check_execution_time(args.execution_time_ms, &record)?;
        token::check_account(&self.creator_token, self.usdc_mint.key, &agent.creator)?;
        if record.platform_amount > 0 {
            token::check_account(&self.treasury_token, self.usdc_mint.key, &config.treasury_owner)?;
        }

        ensure(get_stack_height() == TRANSACTION_LEVEL_STACK_HEIGHT, MarketplaceError::CalledByProgram)?;
        let sysvar = self.instructions_sysvar.try_borrow_data()?;
        ed25519_gate::check(&sysvar, &crate::ID, &record.result_key, &args.result_hash).map_err(Into::into)
    }

    /// The record leaves `Open`, for good.
    #[inline(always)]
    fn record_result(&self, args: &CompleteExecutionArgs, now_unix_s: i64, dispute_deadline: i64) -> Result<()> {
        let mut record = self.record.load_mut()?;
        record.status = ExecutionStatus::Completed as u8;
        record.result_hash = args.result_hash;
        record.execution_time_ms = args.execution_time_ms;
        if let Some(tokens) = args.tokens_used {
            record.tokens_used = tokens;
            record.tokens_reported = 1;
        }
        record.finished_at_unix_s = now_unix_s;
        record.dispute_deadline_unix_s = dispute_deadline;
        record.revision = account::next_revision(record.revision)?;
        Ok(())
    }

    #[inline(always)]
    fn count(&self, amount: u64, execution_time_ms: u64, now_unix_s: i64, dispute_deadline: i64) -> Result<()> {
        let mut agent = self.agent.load_mut()?;
        Escrow::release(&mut agent, amount, now_unix_s)?;
        let add = |total: u64, more: u64| total.checked_add(more).or_refuse(MarketplaceError::OutOfRange);
        agent.successful_executions = add(agent.successful_executions, 1)?;
        agent.completed_executions = add(agent.completed_executions, 1)?;
        agent.execution_time_ms_total = add(agent.execution_time_ms_total, execution_time_ms)?;
        agent.last_dispute_deadline_unix_s = agent.last_dispute_deadline_unix_s.max(dispute_deadline);
        Ok(())
    }
}

/// The time a creator took is told by who submits; it can at most be the time the execution had, so no
/// report can push the sum out of its range and block later settlements.
#[inline(always)]
fn check_execution_time(execution_time_ms: u64, record: &ExecutionRecord) -> Result<()> {
    let longest_ms = record.longest_execution_time_ms().or_refuse(MarketplaceError::OutOfRange)?;
    ensure(execution_time_ms <= longest_ms, MarketplaceError::ExecutionTimeImplausible)
}

/// Specification (1.3, 3.1, 4.7):
/// - called by the creator, the caller or the gateway, in a transaction whose instruction directly before
///   is the Ed25519 program's proof that the execution's result key signed `result_hash`;
/// - until the deadline, once;
/// - pays the creator and the treasury the parts fixed at opening; the treasury's account matters only if
///   it gets something.
pub(crate) fn handler(ctx: Context<CompleteExecution>, args: CompleteExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(&args, now)?;
    let (amount, creator_amount, platform_amount, dispute_window_s) = {
        let record = accounts.record.load()?;
        (record.amount, record.creator_amount, record.platform_amount, record.dispute_window_s)
    };
    let dispute_deadline = now.checked_add(i64::from(dispute_window_s)).or_refuse(MarketplaceError::OutOfRange)?;
    accounts.record_result(&args, now, dispute_deadline)?;
    accounts.count(amount, args.execution_time_ms, now, dispute_deadline)?;
    let escrow = accounts.escrow();
    escrow.pay(&accounts.creator_token, creator_amount)?;
    escrow.pay(&accounts.treasury_token, platform_amount)
}
