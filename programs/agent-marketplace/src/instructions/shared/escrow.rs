//! Money out of escrow: what the three ways to finish an execution share.

use std::cell::{Ref, RefMut};

use anchor_lang::prelude::*;

use super::vault::Vault;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Config, ExecutionRecord, ExecutionStatus, FailureReason, OpenRecord, SpendingGrant},
    token,
};

/// What the accounts of an open execution contain.
pub struct OpenCall<'a> {
    pub config: Ref<'a, Config>,
    pub agent: RefMut<'a, AgentListed>,
    pub open: RefMut<'a, OpenRecord>,
}

impl OpenCall<'_> {
    /// Whether the agent's time-out has passed on chain.
    pub fn is_timed_out(&self, now_unix_s: i64) -> bool {
        let OpenRecord { record, terms } = &*self.open;
        let end = record.opened_at_unix_s.checked_add(i64::from(terms.timeout_seconds));
        end.is_some_and(|end| now_unix_s >= end)
    }

    /// The record leaves `Open` permanently, and the listing has one open execution less.
    #[inline(always)]
    pub fn end(&mut self, status: ExecutionStatus, now_unix_s: i64) -> Result<()> {
        let (record, agent) = (&mut self.open.record, &mut *self.agent);
        record.status = status as u8;
        record.finished_at_unix_s = now_unix_s;
        record.revision = account::next_revision(record.revision)?;
        agent.open_amount = agent.open_amount.checked_sub(record.amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }
}

/// The accounts that a payment out of escrow needs.
pub struct EscrowAccounts<'a, 'info> {
    config: &'a AccountInfo<'info>,
    agent: &'a AccountInfo<'info>,
    record: &'a AccountInfo<'info>,
    /// Gets the rent back that the record does not need any more.
    rent_payer: &'a AccountInfo<'info>,
    escrow: &'a AccountInfo<'info>,
    usdc_mint: &'a AccountInfo<'info>,
}

impl<'a, 'info> EscrowAccounts<'a, 'info> {
    #[inline(always)]
    pub fn new(
        config: &'a AccountInfo<'info>,
        agent: &'a AccountInfo<'info>,
        record: &'a AccountInfo<'info>,
        rent_payer: &'a AccountInfo<'info>,
        escrow: &'a AccountInfo<'info>,
        usdc_mint: &'a AccountInfo<'info>,
    ) -> Self {
        Self { config, agent, record, rent_payer, escrow, usdc_mint }
    }

    /// Reads the accounts, each once. Refuses accounts that do not belong together and a record that is not open any more.
    #[inline(always)]
    pub fn validate(&self) -> Result<OpenCall<'a>> {
        // Before one is borrowed: the same account can be named as both.
        account::check_type::<AgentListed>(self.agent)?;
        let call = OpenCall {
            config: account::load(self.config, MarketplaceError::OutOfRange)?,
            open: account::load_mut(self.record, MarketplaceError::ExecutionNotOpen)?,
            agent: account::load_mut(self.agent, MarketplaceError::OutOfRange)?,
        };
        ensure(*self.usdc_mint.key == call.config.usdc_mint, MarketplaceError::WrongMint)?;
        let record = &call.open.record;
        ensure(record.status == ExecutionStatus::Open as u8, MarketplaceError::ExecutionNotOpen)?;
        ensure(record.agent == *self.agent.key, MarketplaceError::WrongAgent)?;
        ensure(record.rent_payer == *self.rent_payer.key, MarketplaceError::WrongRentPayer)?;
        ensure(*self.escrow.key == call.agent.escrow, MarketplaceError::WrongEscrow)?;
        Ok(call)
    }

    /// The account that the money is in.
    #[inline(always)]
    pub fn vault(&self, listing: &AgentListed) -> Vault<'a, 'info> {
        Vault::new(self.agent, listing, self.escrow, self.usdc_mint)
    }

    /// Drops what only an open execution needs, and returns its rent. Last, because nothing may read it after this.
    #[inline(always)]
    pub fn drop_open_terms(&self) -> Result<()> {
        account::shrink(self.record, ExecutionRecord::SPACE, self.rent_payer)
    }
}

/// The accounts of a refund.
pub struct RefundAccounts<'a, 'info> {
    pub escrow: EscrowAccounts<'a, 'info>,
    pub refund_token: &'a AccountInfo<'info>,
    /// The grant that the execution was opened with, if it was.
    pub grant: Option<&'a AccountLoader<'info, SpendingGrant>>,
    /// Who signed besides. The recorded wallet may name any USDC account of its own.
    pub signer: Option<&'a Pubkey>,
}

impl<'a, 'info> RefundAccounts<'a, 'info> {
    /// Refuses accounts that do not belong together, a record that is not open any more, and a payee that is not the
    /// wallet's, or that the wallet would not look at. A wallet can give both accounts away that a refund may go to, and
    /// the issuer can freeze them. So that this does not lock the collateral forever, a refund that is overdue goes to
    /// any account of the wallet.
    #[inline(never)]
    pub fn validate(&self, now_unix_s: i64) -> Result<OpenCall<'a>> {
        let call = self.escrow.validate()?;
        let OpenRecord { record, terms } = &*call.open;
        token::check_account(self.refund_token, self.escrow.usdc_mint.key, &record.caller)?;
        ensure(
            self.signer == Some(&record.caller)
                || *self.refund_token.key == terms.paid_from
                || token::is_associated(self.refund_token.key, &record.caller, self.escrow.usdc_mint.key)
                || record.window_end_unix_s(terms.deadline_unix_s).is_some_and(|overdue| now_unix_s > overdue),
            MarketplaceError::RefundElsewhere,
        )?;
        let grant = self.grant.map_or(Pubkey::default(), |grant| *grant.as_ref().key);
        ensure(terms.grant == Pubkey::default() || terms.grant == grant, MarketplaceError::WrongGrant)?;
        Ok(call)
    }

    /// Ends the execution and returns the whole amount. Gives a grant back what it had spent. `agents_failure`: the failure
    /// counts against the agent.
    #[inline(never)]
    pub fn refund(
        &self,
        mut call: OpenCall,
        status: ExecutionStatus,
        reason: FailureReason,
        agents_failure: bool,
        now_unix_s: i64,
    ) -> Result<()> {
        call.end(status, now_unix_s)?;
        let OpenRecord { record, terms } = &mut *call.open;
        record.failure_reason = reason as u8;
        record.agents_failure = u8::from(agents_failure);
        let (agent, amount) = (&mut *call.agent, record.amount);
        let add = |total: u64| total.checked_add(1).or_refuse(MarketplaceError::OutOfRange);
        if agents_failure {
            agent.failed_executions = add(agent.failed_executions)?;
            agent.total_executions = add(agent.total_executions)?;
        } else if matches!(reason, FailureReason::Expired | FailureReason::Interrupted) {
            agent.expired_executions = add(agent.expired_executions)?;
        } else {
            agent.unproved_failures = add(agent.unproved_failures)?;
        }
        if let Some(grant) = self.grant.filter(|_| terms.grant != Pubkey::default()) {
            let mut grant = grant.write()?;
            grant.give_back(amount, record.opened_at_unix_s);
            grant.revision = account::next_revision(grant.revision)?;
        }
        let vault = self.escrow.vault(agent);
        // Nothing may be borrowed while the token program is called.
        drop(call);
        vault.pay(self.refund_token, amount)?;
        self.escrow.drop_open_terms()
    }
}
