//! What the two ways to open an execution share: the rules, the record, the counters, the payment.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    id::ID,
    state::{
        AgentListed, AgentStatus, Config, ExecutionRecord, ExecutionStatus, LAYOUT_VERSION, OpenTerms, first_revision,
    },
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
    /// SHA-256 of the terms that the caller agrees to, those of the listing and those of the market (docs/specification.md,
    /// "Terms hash"). Protects the caller from every change of them.
    pub terms_hash: Option<[u8; 32]>,
    /// The free collateral that the caller asks for, in prices of one call; 0 asks for none.
    pub min_cover: u8,
}

/// An execution as it is stored when it opens.
pub struct Opened {
    pub record: ExecutionRecord,
    pub terms: OpenTerms,
}

/// The accounts of an opening, by role.
pub struct OpeningAccounts<'a, 'info> {
    /// The wallet that the execution belongs to and that a refund goes to.
    pub caller: &'a Pubkey,
    pub payer: &'a AccountInfo<'info>,
    pub config: &'a AccountLoader<'info, Config>,
    pub agent: &'a AccountLoader<'info, AgentListed>,
    pub record: &'a AccountInfo<'info>,
    pub source: &'a AccountInfo<'info>,
    /// Who moves the money out of `source`: the caller or the caller's spender address.
    pub authority: &'a AccountInfo<'info>,
    pub escrow: &'a AccountInfo<'info>,
    pub usdc_mint: &'a AccountInfo<'info>,
}

impl OpeningAccounts<'_, '_> {
    /// Refuses an opening that breaks a rule, else returns the execution as it will be. `grant` is all zeros if
    /// none is used.
    #[inline(always)]
    pub fn validate(&self, args: &OpenExecutionArgs, grant: Pubkey, now_unix_s: i64) -> Result<Opened> {
        let (config, agent) = (self.config.read()?, self.agent.read()?);
        ensure(agent.price <= args.max_amount, MarketplaceError::PriceAboveMaximum)?;
        if let Some(hash) = args.terms_hash {
            let present = agent.terms_hash(config.parameters.market_terms());
            ensure(hash == present, MarketplaceError::TermsChanged)?;
        }
        agent.check_cover(args.min_cover)?;
        ensure(agent.price >= config.parameters.min_price, MarketplaceError::PriceOutOfRange)?;
        ensure(*self.caller != agent.creator, MarketplaceError::CallerIsCreator)?;
        ensure(config.openings_paused == 0, MarketplaceError::Paused)?;
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        ensure(agent.status == AgentStatus::Active as u8, MarketplaceError::AgentNotActive)?;
        ensure(agent.suspended == 0, MarketplaceError::AgentSuspended)?;
        ensure(*self.escrow.key == agent.escrow, MarketplaceError::WrongEscrow)?;
        token::check_account(self.source, self.usdc_mint.key, self.caller)?;
        let seeds: &[&[u8]] = &[ExecutionRecord::SEED, self.caller.as_ref(), &args.execution_id];
        let bump = account::canonical_bump(self.record, seeds)?;
        account::check_vacant(self.record)?;

        let parameters = &config.parameters;
        let deadline = now_unix_s
            .checked_add(i64::from(agent.timeout_seconds))
            .and_then(|end| end.checked_add(parameters.settle_grace_s));
        let terms = OpenTerms {
            request_hash: args.request_hash,
            result_key: agent.result_key,
            grant,
            paid_from: *self.source.key,
            deadline_unix_s: deadline.or_refuse(MarketplaceError::OutOfRange)?,
            timeout_seconds: agent.timeout_seconds,
            reserved: [0; 4],
        };
        let record = ExecutionRecord {
            agent: self.agent.key(),
            caller: *self.caller,
            rent_payer: *self.payer.key,
            execution_id: args.execution_id,
            revision: first_revision(now_unix_s).or_refuse(MarketplaceError::OutOfRange)?,
            amount: agent.price,
            opened_at_unix_s: now_unix_s,
            dispute_window_s: u32::try_from(parameters.dispute_window_s)
                .ok()
                .or_refuse(MarketplaceError::OutOfRange)?,
            fee_bps: u16::try_from(parameters.fee_bps).ok().or_refuse(MarketplaceError::OutOfRange)?,
            max_penalty_multiple: u8::try_from(parameters.max_penalty_multiple)
                .ok()
                .or_refuse(MarketplaceError::OutOfRange)?,
            binding: agent.binding,
            status: ExecutionStatus::Open as u8,
            version: LAYOUT_VERSION,
            bump,
            ..Zeroable::zeroed()
        };
        Ok(Opened { record, terms })
    }

    /// Creates the record, counts it, and moves its amount into escrow.
    #[inline(always)]
    pub fn open(&self, opened: &Opened, signer_seeds: &[&[&[u8]]]) -> Result<()> {
        let record = &opened.record;
        let seeds: &[&[u8]] = &[ExecutionRecord::SEED, record.caller.as_ref(), &record.execution_id, &[record.bump]];
        account::create(self.payer, self.record, ExecutionRecord::OPEN_SPACE, &ID, seeds)?;
        account::write_with(self.record, record, &opened.terms)?;
        self.count(record)?;
        token::transfer(self.source, self.usdc_mint, self.escrow, self.authority, record.amount, signer_seeds)
    }

    /// Adds the execution to the listing's open ones.
    #[inline(always)]
    fn count(&self, record: &ExecutionRecord) -> Result<()> {
        let mut agent = self.agent.write()?;
        agent.open_amount = agent.open_amount.checked_add(record.amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = record.opened_at_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }
}
