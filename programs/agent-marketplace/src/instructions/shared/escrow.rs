//! Money out of escrow: what the three ways to finish an execution share.

use anchor_lang::prelude::*;

use super::vault::Vault;
use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListing, Config, ExecutionRecord, ExecutionStatus, FailureReason},
    token,
};

/// The accounts that a payment out of escrow needs.
pub struct EscrowAccounts<'a, 'info> {
    config: &'a AccountLoader<'info, Config>,
    record: &'a AccountLoader<'info, ExecutionRecord>,
    vault: Vault<'a, 'info>,
}

impl<'a, 'info> EscrowAccounts<'a, 'info> {
    #[inline(always)]
    pub fn new(
        config: &'a AccountLoader<'info, Config>,
        agent: &'a AccountLoader<'info, AgentListing>,
        record: &'a AccountLoader<'info, ExecutionRecord>,
        escrow: &'a AccountInfo<'info>,
        usdc_mint: &'a AccountInfo<'info>,
    ) -> Self {
        Self { config, record, vault: Vault { agent, account: escrow, usdc_mint } }
    }

    /// Refuses accounts that do not belong together and a record that is not open any more.
    #[inline(always)]
    pub fn validate(&self) -> Result<()> {
        ensure(*self.vault.usdc_mint.key == self.config.load()?.usdc_mint, MarketplaceError::WrongMint)?;
        let record = self.record.load()?;
        ensure(record.status == ExecutionStatus::Open as u8, MarketplaceError::ExecutionNotOpen)?;
        ensure(record.agent == *self.vault.agent.as_ref().key, MarketplaceError::WrongAgent)?;
        ensure(*self.vault.account.key == self.vault.agent.load()?.escrow, MarketplaceError::WrongEscrow)
    }

    /// Refuses every account except a usable USDC account of the recorded wallet.
    #[inline(always)]
    pub fn check_refund_payee(&self, refund_token: &AccountInfo) -> Result<()> {
        token::check_account(refund_token, self.vault.usdc_mint.key, &self.record.load()?.refund_owner)
    }

    /// Pays `amount` to `destination`.
    #[inline(always)]
    pub fn pay(&self, destination: &AccountInfo<'info>, amount: u64) -> Result<()> {
        self.vault.pay(destination, amount)
    }

    /// Removes the execution from the listing's open ones.
    #[inline(always)]
    pub fn release(agent: &mut AgentListing, amount: u64, now_unix_s: i64) -> Result<()> {
        agent.open_amount = agent.open_amount.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.total_executions = agent.total_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }

    /// Ends the execution as failed and refunds it.
    #[inline(always)]
    pub fn fail(&self, refund_token: &AccountInfo<'info>, reason: FailureReason, now_unix_s: i64) -> Result<()> {
        self.refund(refund_token, ExecutionStatus::Failed, reason, now_unix_s)
    }

    /// Ends the execution as expired and refunds it.
    #[inline(always)]
    pub fn expire(&self, refund_token: &AccountInfo<'info>, now_unix_s: i64) -> Result<()> {
        self.refund(refund_token, ExecutionStatus::Expired, FailureReason::Expired, now_unix_s)
    }

    /// Returns the whole amount to the account `refund_token`.
    #[inline(always)]
    fn refund(
        &self,
        refund_token: &AccountInfo<'info>,
        status: ExecutionStatus,
        reason: FailureReason,
        now_unix_s: i64,
    ) -> Result<()> {
        let amount = {
            let mut record = self.record.load_mut()?;
            record.status = status as u8;
            record.failure_reason = reason as u8;
            record.finished_at_unix_s = now_unix_s;
            record.revision = account::next_revision(record.revision)?;
            record.amount
        };
        {
            let mut agent = self.vault.agent.load_mut()?;
            Self::release(&mut agent, amount, now_unix_s)?;
            agent.failed_executions = agent.failed_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        }
        self.pay(refund_token, amount)
    }
}
