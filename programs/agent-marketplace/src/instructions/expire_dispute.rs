//! `expire_dispute`: a dispute that the resolver left undecided ends, so that nothing is locked for ever.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListing, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus},
};

#[derive(Accounts)]
pub struct ExpireDispute<'info> {
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListing>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    #[account(mut)]
    pub dispute: AccountLoader<'info, Dispute>,
}

impl ExpireDispute<'_> {
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        super::dispute::check(&self.agent, &self.record, &self.dispute)?;
        let decidable_until = self.dispute.load()?.decidable_until_unix_s().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(now_unix_s > decidable_until, MarketplaceError::DisputeStillDecidable)
    }
}

/// Specification (1.7):
/// - called by anybody, 30 days after the dispute was raised, if the resolver has not decided by then;
/// - the execution is completed again and cannot be disputed a second time; nothing moves.
pub(crate) fn handler(ctx: Context<ExpireDispute>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(now)?;
    {
        let mut record = accounts.record.load_mut()?;
        record.status = ExecutionStatus::Completed as u8;
        record.revision = account::next_revision(record.revision)?;
    }
    {
        let mut dispute = accounts.dispute.load_mut()?;
        dispute.outcome = DisputeOutcome::Expired as u8;
        dispute.resolved_at_unix_s = now;
        dispute.revision = account::next_revision(dispute.revision)?;
    }
    super::dispute::release(&mut *accounts.agent.load_mut()?, now)
}
