//! What opening an execution means, whoever signs for the money: checks, record, counters, escrow.

use anchor_lang::prelude::*;
use crtx_protocol::fee;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListing, AgentStatus, Config, ExecutionRecord, ExecutionStatus, LAYOUT_VERSION, first_revision},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct OpenExecutionArgs {
    /// UUID of the execution; with the caller it is the record's address.
    pub execution_id: [u8; 16],
    /// SHA-256 of the RFC 8785 form of `{task, parameters}`.
    pub request_hash: [u8; 32],
    /// Most the caller is willing to pay, in USDC base units: a guard against a price change on the way.
    pub max_amount: u64,
}

/// The accounts of an opening, by role.
pub(super) struct Opening<'a, 'info> {
    /// The wallet whose execution it is and to which a refund goes.
    pub caller: &'a Pubkey,
    /// The grant used; all zeros if none.
    pub grant: Pubkey,
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

/// What an execution is opened with. Later edits of the listing do not touch it.
struct Terms {
    split: fee::Split,
    result_key: Pubkey,
    timeout_seconds: u32,
    dispute_window_s: u32,
    opened_at_unix_s: i64,
    deadline_unix_s: i64,
}

impl Opening<'_, '_> {
    /// Opens the execution at the listing's current price, which is at most `args.max_amount`, and
    /// moves the price into escrow. `price_allowed` may refuse the price.
    #[inline(always)]
    pub fn execute(
        &self,
        args: &OpenExecutionArgs,
        now_unix_s: i64,
        signer_seeds: &[&[&[u8]]],
        price_allowed: impl FnOnce(u64) -> Result<()>,
    ) -> Result<()> {
        let amount = self.agent.load()?.price;
        ensure(amount <= args.max_amount, MarketplaceError::PriceAboveMaximum)?;
        price_allowed(amount)?;
        let terms = self.terms(amount, now_unix_s)?;
        token::check_account(self.source, self.usdc_mint.key, self.caller)?;
        self.create_record(args, amount, &terms)?;
        self.count(amount, now_unix_s)?;
        token::transfer(self.source, self.usdc_mint, self.escrow, self.authority, amount, signer_seeds)
    }

    #[inline(always)]
    fn terms(&self, amount: u64, now_unix_s: i64) -> Result<Terms> {
        let config = self.config.load()?;
        ensure(config.paused == 0, MarketplaceError::Paused)?;
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        let agent = self.agent.load()?;
        ensure(agent.status == AgentStatus::Active as u8, MarketplaceError::AgentNotActive)?;
        ensure(*self.escrow.key == agent.escrow, MarketplaceError::WrongEscrow)?;
        let deadline = now_unix_s
            .checked_add(i64::from(agent.timeout_seconds))
            .and_then(|end| end.checked_add(config.settle_grace_s));
        Ok(Terms {
            split: fee::split(amount, config.fee_bps).or_refuse(MarketplaceError::OutOfRange)?,
            result_key: agent.result_key,
            timeout_seconds: agent.timeout_seconds,
            dispute_window_s: u32::try_from(config.dispute_window_s).ok().or_refuse(MarketplaceError::OutOfRange)?,
            opened_at_unix_s: now_unix_s,
            deadline_unix_s: deadline.or_refuse(MarketplaceError::OutOfRange)?,
        })
    }

    #[inline(always)]
    fn create_record(&self, args: &OpenExecutionArgs, amount: u64, terms: &Terms) -> Result<()> {
        let seeds: &[&[u8]] = &[ExecutionRecord::SEED, self.caller.as_ref(), &args.execution_id];
        let bump = account::canonical_bump(self.record, seeds)?;
        let seeds: &[&[u8]] = &[ExecutionRecord::SEED, self.caller.as_ref(), &args.execution_id, &[bump]];
        account::create(self.payer, self.record, ExecutionRecord::SPACE, &crate::ID, seeds)?;
        account::initialize::<ExecutionRecord>(self.record, |record| {
            record.agent = self.agent.key();
            record.caller = *self.caller;
            record.request_hash = args.request_hash;
            record.refund_owner = *self.caller;
            record.result_key = terms.result_key;
            record.rent_payer = *self.payer.key;
            record.grant = self.grant;
            record.execution_id = args.execution_id;
            record.revision = first_revision(terms.opened_at_unix_s).or_refuse(MarketplaceError::OutOfRange)?;
            record.amount = amount;
            record.creator_amount = terms.split.creator;
            record.platform_amount = terms.split.platform;
            record.opened_at_unix_s = terms.opened_at_unix_s;
            record.deadline_unix_s = terms.deadline_unix_s;
            record.timeout_seconds = terms.timeout_seconds;
            record.dispute_window_s = terms.dispute_window_s;
            record.status = ExecutionStatus::Open as u8;
            record.version = LAYOUT_VERSION;
            record.bump = bump;
            Ok(())
        })
    }

    /// The agent's counters.
    #[inline(always)]
    fn count(&self, amount: u64, now_unix_s: i64) -> Result<()> {
        let mut agent = self.agent.load_mut()?;
        agent.open_amount = agent.open_amount.checked_add(amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }
}
