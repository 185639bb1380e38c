//! What the instructions about an open dispute share.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Dispute, DisputeOutcome, ExecutionRecord},
};

/// Refuses accounts that do not belong together and a dispute that is over.
pub fn check_open(
    agent: &AccountLoader<AgentListed>,
    record: &AccountLoader<ExecutionRecord>,
    dispute: &AccountLoader<Dispute>,
) -> Result<()> {
    ensure(record.load()?.agent == *agent.as_ref().key, MarketplaceError::WrongAgent)?;
    let dispute = dispute.load()?;
    ensure(dispute.execution == *record.as_ref().key, MarketplaceError::WrongDispute)?;
    ensure(dispute.outcome == DisputeOutcome::Open as u8, MarketplaceError::DisputeNotOpen)
}

/// Removes the dispute about `amount` from the listing's open ones.
pub fn release(agent: &mut AgentListed, amount: u64, now_unix_s: i64) -> Result<()> {
    agent.open_disputes = agent.open_disputes.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
    agent.disputed_amount = agent.disputed_amount.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
    agent.updated_at_unix_s = now_unix_s;
    agent.revision = account::next_revision(agent.revision)?;
    Ok(())
}
