//! What the two ways to open an execution share: the rules, the record, the counters, the payment.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;
use crtx_protocol::fee;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    id::ID,
    state::{AgentListing, AgentStatus, Config, ExecutionRecord, ExecutionStatus, LAYOUT_VERSION, first_revision},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct OpenExecutionArgs {
    /// UUID of the execution; with the caller it is the record's address.
    pub execution_id: [u8; 16],
    /// SHA-256 of the RFC 8785 form of `{task, parameters}`.
    pub request_hash: [u8; 32],
    /// Most that the caller agrees to pay, in USDC base units. Protects the caller from a price change.
    pub max_amount: u64,
}

/// The accounts of an opening, by role.
pub struct OpeningAccounts<'a, 'info> {
    /// The wallet that the execution belongs to and that a refund goes to.
    pub caller: &'a Pubkey,
    pub payer: &'a AccountInfo<'info>,
    pub config: &'a AccountLoader<'info, Config>,
    pub agent: &'a AccountLoader<'info, AgentListing>,
    pub record: &'a AccountInfo<'info>,
    pub source: &'a AccountInfo<'info>,
    /// Who moves the money out of `source`: the caller or the caller's spender address.
    pub authority: &'a AccountInfo<'info>,
    pub escrow: &'a AccountInfo<'info>,
    pub usdc_mint: &'a AccountInfo<'info>,
}

impl OpeningAccounts<'_, '_> {
    /// Refuses an opening that breaks a rule, else returns the record as it will be. `grant` is all zeros if
    /// none is used.
    #[inline(always)]
    pub fn validate(&self, args: &OpenExecutionArgs, grant: Pubkey, now_unix_s: i64) -> Result<ExecutionRecord> {
        let (config, agent) = (self.config.load()?, self.agent.load()?);
        ensure(agent.price <= args.max_amount, MarketplaceError::PriceAboveMaximum)?;
        ensure(config.paused == 0, MarketplaceError::Paused)?;
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        ensure(agent.status == AgentStatus::Active as u8, MarketplaceError::AgentNotActive)?;
        ensure(*self.escrow.key == agent.escrow, MarketplaceError::WrongEscrow)?;
        token::check_account(self.source, self.usdc_mint.key, self.caller)?;
        let seeds: &[&[u8]] = &[ExecutionRecord::SEED, self.caller.as_ref(), &args.execution_id];
        let bump = account::canonical_bump(self.record, seeds)?;
        account::check_vacant(self.record)?;

        let split = fee::split(agent.price, config.fee_bps).or_refuse(MarketplaceError::OutOfRange)?;
        let deadline = now_unix_s
            .checked_add(i64::from(agent.timeout_seconds))
            .and_then(|end| end.checked_add(config.settle_grace_s));
        let dispute_window = u32::try_from(config.dispute_window_s).ok();
        Ok(ExecutionRecord {
            agent: self.agent.key(),
            caller: *self.caller,
            request_hash: args.request_hash,
            refund_owner: *self.caller,
            result_key: agent.result_key,
            rent_payer: *self.payer.key,
            grant,
            execution_id: args.execution_id,
            revision: first_revision(now_unix_s).or_refuse(MarketplaceError::OutOfRange)?,
            amount: agent.price,
            creator_amount: split.creator,
            platform_amount: split.platform,
            opened_at_unix_s: now_unix_s,
            deadline_unix_s: deadline.or_refuse(MarketplaceError::OutOfRange)?,
            timeout_seconds: agent.timeout_seconds,
            dispute_window_s: dispute_window.or_refuse(MarketplaceError::OutOfRange)?,
            status: ExecutionStatus::Open as u8,
            version: LAYOUT_VERSION,
            bump,
            ..Zeroable::zeroed()
        })
    }

    /// Creates the record, counts it, and moves its amount into escrow.
    #[inline(always)]
    pub fn open(&self, record: &ExecutionRecord, signer_seeds: &[&[&[u8]]]) -> Result<()> {
        let seeds: &[&[u8]] = &[ExecutionRecord::SEED, record.caller.as_ref(), &record.execution_id, &[record.bump]];
        account::create(self.payer, self.record, ExecutionRecord::SPACE, &ID, seeds)?;
        account::write(self.record, record)?;
        self.count(record)?;
        token::transfer(self.source, self.usdc_mint, self.escrow, self.authority, record.amount, signer_seeds)
    }

    /// Adds the execution to the listing's open ones.
    #[inline(always)]
    fn count(&self, record: &ExecutionRecord) -> Result<()> {
        let mut agent = self.agent.load_mut()?;
        agent.open_amount = agent.open_amount.checked_add(record.amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = record.opened_at_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }
}
