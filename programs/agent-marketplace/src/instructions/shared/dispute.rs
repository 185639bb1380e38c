//! What the instructions about an open dispute share.

use anchor_lang::prelude::*;

use super::vault::Vault;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, AgentStatus, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, MarketParameters},
    token,
};

/// What a dispute holds of its listing while it is open.
pub struct Claim {
    /// What the caller paid.
    pub amount: u64,
    /// The part of it that the collateral covers.
    pub covered: u64,
    /// Most that a decision may take of the collateral.
    pub slashable: u64,
    pub bond: u64,
}

impl Claim {
    /// The claim about an execution that is not disputed yet.
    pub fn new(record: &ExecutionRecord, agent: &AgentListed, bond: u64) -> Result<Self> {
        let slashable = record.highest_slash().or_refuse(MarketplaceError::OutOfRange)?;
        // Claims that were raised before keep their cover.
        let covered = agent.left_by_others(0)?.min(record.amount);
        Ok(Self { amount: record.amount, covered, slashable, bond })
    }

    /// Adds a dispute to the listing's open ones.
    pub fn raise(&self, agent: &mut AgentListed, now_unix_s: i64) -> Result<()> {
        let add = |sum: u64, amount: u64| sum.checked_add(amount).or_refuse(MarketplaceError::OutOfRange);
        agent.open_disputes = agent.open_disputes.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.disputed_amount = add(agent.disputed_amount, self.amount)?;
        agent.covered_amount = add(agent.covered_amount, self.covered)?;
        agent.slashable_amount = add(agent.slashable_amount, self.slashable)?;
        agent.open_bonds = add(agent.open_bonds, self.bond)?;
        agent.disputed_executions = add(agent.disputed_executions, 1)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }

    /// Removes a dispute from the listing's open ones.
    fn release(&self, agent: &mut AgentListed, now_unix_s: i64) -> Result<()> {
        let subtract = |from: u64, amount: u64| from.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange);
        agent.open_disputes = agent.open_disputes.checked_sub(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.disputed_amount = subtract(agent.disputed_amount, self.amount)?;
        agent.covered_amount = subtract(agent.covered_amount, self.covered)?;
        agent.slashable_amount = subtract(agent.slashable_amount, self.slashable)?;
        agent.open_bonds = subtract(agent.open_bonds, self.bond)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }
}

/// Takes `amount` from the listing's collateral. A listing that lacks collateral after it is paused.
pub fn take_collateral(agent: &mut AgentListed, amount: u64, parameters: &MarketParameters) -> Result<()> {
    agent.collateral = agent.collateral.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange)?;
    agent.slashed_total = agent.slashed_total.checked_add(amount).or_refuse(MarketplaceError::OutOfRange)?;
    let required = parameters.required_collateral(agent.price, agent.min_cover);
    if agent.status == AgentStatus::Active as u8 && agent.free_collateral() < required {
        agent.status = AgentStatus::Paused as u8;
    }
    Ok(())
}

/// The accounts of an instruction that ends a dispute.
pub struct OpenDisputeAccounts<'a, 'info> {
    pub agent: &'a AccountLoader<'info, AgentListed>,
    pub record: &'a AccountLoader<'info, ExecutionRecord>,
    pub dispute: &'a AccountLoader<'info, Dispute>,
    /// Holds the bond.
    pub escrow: &'a AccountInfo<'info>,
    /// Gets the bond.
    pub bond_token: &'a AccountInfo<'info>,
    pub usdc_mint: &'a AccountInfo<'info>,
}

impl OpenDisputeAccounts<'_, '_> {
    /// Refuses accounts that do not belong together, a dispute that is over, and an account for the bond that is not
    /// one of `bond_owner`. Without a bond that account is not looked at.
    pub fn validate(&self, bond_owner: &Pubkey) -> Result<()> {
        check_open(self.agent, self.record, self.dispute)?;
        ensure(*self.escrow.key == self.agent.read()?.escrow, MarketplaceError::WrongEscrow)?;
        if self.dispute.read()?.bond > 0 {
            token::check_account(self.bond_token, self.usdc_mint.key, bond_owner)?;
        }
        Ok(())
    }

    /// What the dispute holds.
    pub fn claim(&self) -> Result<Claim> {
        let (record, dispute) = (self.record.read()?, self.dispute.read()?);
        let slashable = record.highest_slash().or_refuse(MarketplaceError::OutOfRange)?;
        Ok(Claim { amount: record.amount, covered: dispute.covered_amount, slashable, bond: dispute.bond })
    }

    /// Writes how the dispute ended, and of that `slash` goes to the caller as far as the caller paid it. Returns the
    /// claim that the listing does not have any more.
    pub fn end(&self, outcome: DisputeOutcome, slash: u64, now_unix_s: i64) -> Result<Claim> {
        let claim = self.claim()?;
        let mut record = self.record.write()?;
        let upheld = outcome == DisputeOutcome::Upheld;
        record.status = if upheld { ExecutionStatus::Overturned } else { ExecutionStatus::Completed } as u8;
        record.revision = account::next_revision(record.revision)?;
        let mut dispute = self.dispute.write()?;
        dispute.outcome = outcome as u8;
        dispute.resolved_at_unix_s = now_unix_s;
        dispute.slash_amount = slash;
        dispute.compensation = slash.min(claim.amount);
        dispute.revision = account::next_revision(dispute.revision)?;
        claim.release(&mut *self.agent.write()?, now_unix_s)?;
        Ok(claim)
    }

    /// Pays the bond to whom it belongs now. Last, because it calls the token program.
    pub fn pay_bond(&self, claim: &Claim) -> Result<()> {
        let vault = Vault::new(self.agent.as_ref(), &*self.agent.read()?, self.escrow, self.usdc_mint);
        vault.pay(self.bond_token, claim.bond)
    }
}

/// Refuses accounts that do not belong together and a dispute that is over.
pub fn check_open(
    agent: &AccountLoader<AgentListed>,
    record: &AccountLoader<ExecutionRecord>,
    dispute: &AccountLoader<Dispute>,
) -> Result<()> {
    ensure(record.read()?.agent == *agent.as_ref().key, MarketplaceError::WrongAgent)?;
    let dispute = dispute.read()?;
    ensure(dispute.execution == *record.as_ref().key, MarketplaceError::WrongDispute)?;
    ensure(dispute.outcome == DisputeOutcome::Open as u8, MarketplaceError::DisputeNotOpen)
}
