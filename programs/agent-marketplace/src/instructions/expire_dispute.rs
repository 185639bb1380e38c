//! `expire_dispute`: ends a dispute that the resolver did not decide in time, so that no collateral stays
//! locked.

use anchor_lang::prelude::*;

use super::shared::dispute;
use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus},
};

#[derive(Accounts)]
pub struct ExpireDispute<'info> {
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    #[account(mut)]
    pub dispute: AccountLoader<'info, Dispute>,
}

impl ExpireDispute<'_> {
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        dispute::check_open(&self.agent, &self.record, &self.dispute)?;
        let decidable_until = self.dispute.load()?.decidable_until_unix_s().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(now_unix_s > decidable_until, MarketplaceError::DisputeStillDecidable)
    }
}

/// Rules (docs/specification.md, "Dispute states"):
/// - called by anybody, 30 days after the dispute was raised, if the resolver has not decided by then;
/// - the execution is completed again and cannot be disputed a second time; nothing moves.
pub(crate) fn handler(ctx: Context<ExpireDispute>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(now)?;
    let amount = {
        let mut record = accounts.record.load_mut()?;
        record.status = ExecutionStatus::Completed as u8;
        record.revision = account::next_revision(record.revision)?;
        record.amount
    };
    let covered = {
        let mut expired = accounts.dispute.load_mut()?;
        expired.outcome = DisputeOutcome::Expired as u8;
        expired.resolved_at_unix_s = now;
        expired.revision = account::next_revision(expired.revision)?;
        expired.covered_amount
    };
    dispute::release(&mut *accounts.agent.load_mut()?, amount, covered, now)
}
