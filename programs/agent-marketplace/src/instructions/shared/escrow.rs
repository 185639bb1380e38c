//! Money out of escrow: what the three ways to finish an execution share.

use std::cell::Ref;

use anchor_lang::prelude::*;

use super::vault::Vault;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Config, ExecutionRecord, ExecutionStatus, FailureReason, OpenTerms, SpendingGrant},
    token,
};

/// The accounts that a payment out of escrow needs.
pub struct EscrowAccounts<'a, 'info> {
    config: &'a AccountLoader<'info, Config>,
    agent: &'a AccountLoader<'info, AgentListed>,
    record: &'a AccountLoader<'info, ExecutionRecord>,
    /// Gets the rent back that the record does not need any more.
    rent_payer: &'a AccountInfo<'info>,
    escrow: &'a AccountInfo<'info>,
    usdc_mint: &'a AccountInfo<'info>,
}

impl<'a, 'info> EscrowAccounts<'a, 'info> {
    #[inline(always)]
    pub fn new(
        config: &'a AccountLoader<'info, Config>,
        agent: &'a AccountLoader<'info, AgentListed>,
        record: &'a AccountLoader<'info, ExecutionRecord>,
        rent_payer: &'a AccountInfo<'info>,
        escrow: &'a AccountInfo<'info>,
        usdc_mint: &'a AccountInfo<'info>,
    ) -> Self {
        Self { config, agent, record, rent_payer, escrow, usdc_mint }
    }

    /// Refuses accounts that do not belong together and a record that is not open any more.
    #[inline(always)]
    pub fn validate(&self) -> Result<()> {
        ensure(*self.usdc_mint.key == self.config.read()?.usdc_mint, MarketplaceError::WrongMint)?;
        let record = self.record.read()?;
        ensure(record.status == ExecutionStatus::Open as u8, MarketplaceError::ExecutionNotOpen)?;
        ensure(record.agent == *self.agent.as_ref().key, MarketplaceError::WrongAgent)?;
        ensure(record.rent_payer == *self.rent_payer.key, MarketplaceError::WrongRentPayer)?;
        ensure(*self.escrow.key == self.agent.read()?.escrow, MarketplaceError::WrongEscrow)
    }

    /// The terms of the open record.
    #[inline(always)]
    pub fn terms(&self) -> Result<Ref<'a, OpenTerms>> {
        let data: &'a AccountInfo<'info> = self.record.as_ref();
        let data = data.try_borrow_data()?;
        Ref::filter_map(data, |data| ExecutionRecord::open_terms(data))
            .ok()
            .or_refuse(MarketplaceError::ExecutionNotOpen)
    }

    /// Whether the agent's time-out has passed on chain.
    pub fn is_timed_out(&self, now_unix_s: i64) -> Result<bool> {
        let opened_at_unix_s = self.record.read()?.opened_at_unix_s;
        let timeout_s = i64::from(self.terms()?.timeout_seconds);
        Ok(opened_at_unix_s.checked_add(timeout_s).is_some_and(|end| now_unix_s >= end))
    }

    /// Pays `amount` to `destination`.
    #[inline(always)]
    pub fn pay(&self, destination: &AccountInfo<'info>, amount: u64) -> Result<()> {
        Vault { agent: self.agent, account: self.escrow, usdc_mint: self.usdc_mint }.pay(destination, amount)
    }

    /// Removes the execution from the listing's open ones.
    #[inline(always)]
    pub fn release(agent: &mut AgentListed, amount: u64, now_unix_s: i64) -> Result<()> {
        agent.open_amount = agent.open_amount.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }

    /// Drops what only an open execution needs, and returns its rent. Last, because nothing may read it after this.
    #[inline(always)]
    pub fn drop_open_terms(&self) -> Result<()> {
        account::shrink(self.record.as_ref(), ExecutionRecord::SPACE, self.rent_payer)
    }
}

/// The accounts of a refund.
pub struct RefundAccounts<'a, 'info> {
    pub escrow: EscrowAccounts<'a, 'info>,
    pub refund_token: &'a AccountInfo<'info>,
    /// The grant that the execution was opened with, if it was.
    pub grant: Option<&'a AccountLoader<'info, SpendingGrant>>,
    /// The wallet signed, so it may name any USDC account of its own.
    pub wallet_signed: bool,
}

impl<'info> RefundAccounts<'_, 'info> {
    /// Refuses accounts that do not belong together, a record that is not open any more, and a payee that is not the
    /// wallet's, or that the wallet would not look at. A wallet can give both accounts away that a refund may go to, and
    /// the issuer can freeze them. So that this does not lock the collateral forever, a refund that is overdue goes to
    /// any account of the wallet. Returns the execution's deadline.
    #[inline(never)]
    pub fn validate(&self, now_unix_s: i64) -> Result<i64> {
        self.escrow.validate()?;
        let (record, terms) = (self.escrow.record.read()?, self.escrow.terms()?);
        token::check_account(self.refund_token, self.escrow.usdc_mint.key, &record.caller)?;
        ensure(
            self.wallet_signed
                || *self.refund_token.key == terms.paid_from
                || token::is_associated(self.refund_token.key, &record.caller, self.escrow.usdc_mint.key)
                || record.window_end_unix_s(terms.deadline_unix_s).is_some_and(|overdue| now_unix_s > overdue),
            MarketplaceError::RefundElsewhere,
        )?;
        let grant = self.grant.map_or(Pubkey::default(), |grant| *grant.as_ref().key);
        ensure(terms.grant == Pubkey::default() || terms.grant == grant, MarketplaceError::WrongGrant)?;
        Ok(terms.deadline_unix_s)
    }

    /// Ends the execution and returns the whole amount. Gives a grant back what it had spent. `agents_failure`: the failure
    /// counts against the agent.
    #[inline(never)]
    pub fn refund(
        &self,
        status: ExecutionStatus,
        reason: FailureReason,
        agents_failure: bool,
        now_unix_s: i64,
    ) -> Result<()> {
        let with_grant = self.escrow.terms()?.grant != Pubkey::default();
        let (amount, opened_at_unix_s) = {
            let mut record = self.escrow.record.write()?;
            record.status = status as u8;
            record.failure_reason = reason as u8;
            record.agents_failure = u8::from(agents_failure);
            record.finished_at_unix_s = now_unix_s;
            record.revision = account::next_revision(record.revision)?;
            (record.amount, record.opened_at_unix_s)
        };
        {
            let mut agent = self.escrow.agent.write()?;
            EscrowAccounts::release(&mut agent, amount, now_unix_s)?;
            let add = |total: u64| total.checked_add(1).or_refuse(MarketplaceError::OutOfRange);
            if agents_failure {
                agent.failed_executions = add(agent.failed_executions)?;
                agent.total_executions = add(agent.total_executions)?;
            } else if matches!(reason, FailureReason::Expired | FailureReason::Interrupted) {
                agent.expired_executions = add(agent.expired_executions)?;
            } else {
                agent.unproved_failures = add(agent.unproved_failures)?;
            }
        }
        if let Some(grant) = self.grant.filter(|_| with_grant) {
            let mut grant = grant.write()?;
            grant.give_back(amount, opened_at_unix_s);
            grant.revision = account::next_revision(grant.revision)?;
        }
        self.escrow.pay(self.refund_token, amount)?;
        self.escrow.drop_open_terms()
    }
}
