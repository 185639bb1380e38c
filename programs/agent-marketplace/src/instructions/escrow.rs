//! Money out of escrow: what every way to finish an execution shares.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListing, Config, ExecutionRecord, ExecutionStatus, FailureReason},
    token,
};

/// The accounts that a payment out of escrow takes.
pub(super) struct Escrow<'a, 'info> {
    pub config: &'a AccountLoader<'info, Config>,
    pub agent: &'a AccountLoader<'info, AgentListing>,
    pub record: &'a AccountLoader<'info, ExecutionRecord>,
    pub escrow: &'a AccountInfo<'info>,
    pub usdc_mint: &'a AccountInfo<'info>,
}

impl<'info> Escrow<'_, 'info> {
    /// Refuses accounts that do not belong together and a record that is not open any more.
    #[inline(always)]
    pub fn validate(&self) -> Result<()> {
        ensure(*self.usdc_mint.key == self.config.load()?.usdc_mint, MarketplaceError::WrongMint)?;
        let record = self.record.load()?;
        ensure(record.status == ExecutionStatus::Open as u8, MarketplaceError::ExecutionNotOpen)?;
        ensure(record.agent == *self.agent.as_ref().key, MarketplaceError::WrongAgent)?;
        ensure(*self.escrow.key == self.agent.load()?.escrow, MarketplaceError::WrongEscrow)
    }

    /// Pays `amount` to `destination`, signed by the listing. Nothing is paid for zero.
    #[inline(always)]
    pub fn pay(&self, destination: &AccountInfo<'info>, amount: u64) -> Result<()> {
        if amount == 0 {
            return Ok(());
        }
        let (creator, index, bump) = {
            let agent = self.agent.load()?;
            (agent.creator, agent.index.to_le_bytes(), [agent.bump])
        };
        let seeds: &[&[u8]] = &[AgentListing::SEED, creator.as_ref(), &index, &bump];
        token::transfer(self.escrow, self.usdc_mint, destination, self.agent.as_ref(), amount, &[seeds])
    }

    /// Takes the execution out of the listing's open ones.
    #[inline(always)]
    pub fn release(agent: &mut AgentListing, amount: u64, now_unix_s: i64) -> Result<()> {
        agent.open_amount = agent.open_amount.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
        agent.open_executions = agent.open_executions.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.total_executions = agent.total_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }

    /// Gives the whole amount back to the account `refund_token` of the recorded wallet.
    #[inline(always)]
    pub fn refund(
        &self,
        refund_token: &AccountInfo<'info>,
        status: ExecutionStatus,
        reason: FailureReason,
        now_unix_s: i64,
    ) -> Result<()> {
        let amount = {
            let mut record = self.record.load_mut()?;
            token::check_account(refund_token, self.usdc_mint.key, &record.refund_owner)?;
            record.status = status as u8;
            record.failure_reason = reason as u8;
            record.finished_at_unix_s = now_unix_s;
            record.revision = account::next_revision(record.revision)?;
            record.amount
        };
        {
            let mut agent = self.agent.load_mut()?;
            Self::release(&mut agent, amount, now_unix_s)?;
            agent.failed_executions = agent.failed_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        }
        self.pay(refund_token, amount)
    }
}
