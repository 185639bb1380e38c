//! `open_dispute`: a caller disputes a completed execution.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use super::shared::{dispute, text_argument};
use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    id::ID,
    state::{
        AgentListed, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, LAYOUT_VERSION, Settler, first_revision,
    },
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct OpenDisputeArgs {
    /// SHA-256 of the evidence document.
    pub evidence_hash: [u8; 32],
    /// Where the document is.
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read"))]
    pub evidence_uri: String,
}

#[derive(Accounts)]
pub struct OpenDispute<'info> {
    pub caller: Signer<'info>,
    /// Pays the dispute's rent and gets it back when the record is closed.
    #[account(mut)]
    pub payer: Signer<'info>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub dispute: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl OpenDispute<'_> {
    fn validate(&self, args: &OpenDisputeArgs, now_unix_s: i64) -> Result<Dispute> {
        let (record, address) = (self.record.load()?, self.record.as_ref().key);
        ensure(record.caller == *self.caller.key, MarketplaceError::NotCaller)?;
        ensure(record.agent == *self.agent.as_ref().key, MarketplaceError::WrongAgent)?;
        ensure(
            record.status == ExecutionStatus::Completed as u8 && record.dispute_count == 0,
            MarketplaceError::NotDisputable,
        )?;
        ensure(record.settled_by() != Some(Settler::Caller), MarketplaceError::SettledByCaller)?;
        let deadline = record.dispute_deadline_unix_s().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(now_unix_s <= deadline, MarketplaceError::DisputeWindowOver)?;
        let mut dispute = Dispute {
            execution: *address,
            agent: record.agent,
            raised_by: *self.caller.key,
            rent_payer: *self.payer.key,
            evidence_hash: args.evidence_hash,
            revision: first_revision(now_unix_s).or_refuse(MarketplaceError::OutOfRange)?,
            raised_at_unix_s: now_unix_s,
            outcome: DisputeOutcome::Open as u8,
            version: LAYOUT_VERSION,
            bump: account::canonical_bump(&self.dispute, &[Dispute::SEED, address.as_ref()])?,
            ..Zeroable::zeroed()
        };
        dispute.set_evidence_uri(&args.evidence_uri)?;
        dispute.invariant()?;
        account::check_vacant(&self.dispute)?;
        Ok(dispute)
    }

    /// Returns what the collateral covers of the claim.
    fn count(&self, now_unix_s: i64) -> Result<u64> {
        let amount = {
            let mut record = self.record.load_mut()?;
            record.status = ExecutionStatus::Disputed as u8;
            record.dispute_count = 1;
            record.revision = account::next_revision(record.revision)?;
            record.amount
        };
        let mut agent = self.agent.load_mut()?;
        let covered = dispute::raise(&mut agent, amount)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(covered)
    }
}

/// Rules (docs/specification.md, "Dispute states"):
/// - called by the caller of a completed execution, once, within the dispute window, unless the caller settled it;
/// - needs the hash of the evidence and where it is; also possible if the program is paused or the agent paused or delisted;
/// - of the collateral, the claim gets what claims before it have left, and keeps it until it is decided.
pub(crate) fn handler(ctx: Context<OpenDispute>, args: OpenDisputeArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let mut dispute = accounts.validate(&args, now)?;
    dispute.covered_amount = accounts.count(now)?;
    let seeds: &[&[u8]] = &[Dispute::SEED, dispute.execution.as_ref(), &[dispute.bump]];
    account::create(&accounts.payer, &accounts.dispute, Dispute::SPACE, &ID, seeds)?;
    account::write(&accounts.dispute, &dispute)
}
