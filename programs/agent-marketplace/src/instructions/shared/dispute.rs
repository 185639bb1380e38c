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

/// Adds a dispute about `amount` to the listing's open ones. Returns the part of it that the collateral covers: claims
/// that were raised before keep theirs.
pub fn raise(agent: &mut AgentListed, amount: u64) -> Result<u64> {
    let covered = agent.uncovered_collateral()?.min(amount);
    let add = |sum: u64, amount: u64| sum.checked_add(amount).or_refuse(MarketplaceError::OutOfRange);
    agent.open_disputes = agent.open_disputes.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
    agent.disputed_amount = add(agent.disputed_amount, amount)?;
    agent.covered_amount = add(agent.covered_amount, covered)?;
    agent.disputed_executions = add(agent.disputed_executions, 1)?;
    Ok(covered)
}

/// Removes the dispute about `amount`, of which `covered` was covered, from the listing's open ones.
pub fn release(agent: &mut AgentListed, amount: u64, covered: u64, now_unix_s: i64) -> Result<()> {
    agent.open_disputes = agent.open_disputes.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
    agent.disputed_amount = agent.disputed_amount.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
    agent.covered_amount = agent.covered_amount.checked_sub(covered).or_refuse(MarketplaceError::OutOfRange)?;
    agent.updated_at_unix_s = now_unix_s;
    agent.revision = account::next_revision(agent.revision)?;
    Ok(())
}
