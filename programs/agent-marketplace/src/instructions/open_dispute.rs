//! `open_dispute`: a caller claims that a completed execution was not what was paid for.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{
        AgentListing, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, LAYOUT_VERSION,
        MAX_EVIDENCE_URI_BYTES, first_revision,
    },
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct OpenDisputeArgs {
    /// SHA-256 of the evidence document.
    pub evidence_hash: [u8; 32],
    /// Where it is; may be empty.
    pub evidence_uri: String,
}

#[derive(Accounts)]
pub struct OpenDispute<'info> {
    pub caller: Signer<'info>,
    /// Pays the dispute's rent and gets it back when the record is closed.
    #[account(mut)]
    pub payer: Signer<'info>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListing>,
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
    fn validate(&self, args: &OpenDisputeArgs, now_unix_s: i64) -> Result<()> {
        let record = self.record.load()?;
        ensure(record.caller == *self.caller.key, MarketplaceError::NotCaller)?;
        ensure(record.agent == *self.agent.as_ref().key, MarketplaceError::WrongAgent)?;
        ensure(
            record.status == ExecutionStatus::Completed as u8 && record.dispute_count == 0,
            MarketplaceError::NotDisputable,
        )?;
        ensure(now_unix_s <= record.dispute_deadline_unix_s, MarketplaceError::DisputeWindowOver)?;
        ensure(args.evidence_hash != [0; 32], MarketplaceError::EvidenceMissing)?;
        let uri = args.evidence_uri.as_bytes();
        ensure(
            uri.len() <= MAX_EVIDENCE_URI_BYTES && uri.iter().all(u8::is_ascii_graphic),
            MarketplaceError::EvidenceUriInvalid,
        )
    }

    fn count(&self, now_unix_s: i64) -> Result<()> {
        {
            let mut record = self.record.load_mut()?;
            record.status = ExecutionStatus::Disputed as u8;
            record.dispute_count = 1;
            record.revision = account::next_revision(record.revision)?;
        }
        let mut agent = self.agent.load_mut()?;
        agent.open_disputes = agent.open_disputes.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.disputed_executions = agent.disputed_executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        agent.updated_at_unix_s = now_unix_s;
        agent.revision = account::next_revision(agent.revision)?;
        Ok(())
    }
}

/// Specification (1.7):
/// - called by the caller of a completed execution, once, within the dispute window;
/// - evidence hash required; paused or delisted makes no difference.
pub(crate) fn handler(ctx: Context<OpenDispute>, args: OpenDisputeArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(&args, now)?;
    accounts.count(now)?;
    let record = accounts.record.as_ref().key;
    let bump = account::canonical_bump(&accounts.dispute, &[Dispute::SEED, record.as_ref()])?;
    let seeds: &[&[u8]] = &[Dispute::SEED, record.as_ref(), &[bump]];
    account::create(&accounts.payer, &accounts.dispute, Dispute::SPACE, &crate::ID, seeds)?;
    account::initialize::<Dispute>(&accounts.dispute, |dispute| {
        dispute.execution = *record;
        dispute.agent = accounts.agent.key();
        dispute.raised_by = *accounts.caller.key;
        dispute.rent_payer = *accounts.payer.key;
        dispute.evidence_hash = args.evidence_hash;
        dispute.revision = first_revision(now).or_refuse(MarketplaceError::OutOfRange)?;
        dispute.raised_at_unix_s = now;
        dispute.outcome = DisputeOutcome::Open as u8;
        dispute.version = LAYOUT_VERSION;
        dispute.bump = bump;
        write_uri(dispute, args.evidence_uri.as_bytes())
    })
}

fn write_uri(dispute: &mut Dispute, uri: &[u8]) -> Result<()> {
    dispute.evidence_uri_len = u8::try_from(uri.len()).ok().or_refuse(MarketplaceError::EvidenceUriInvalid)?;
    let used = dispute.evidence_uri.get_mut(..uri.len()).or_refuse(MarketplaceError::EvidenceUriInvalid)?;
    used.copy_from_slice(uri);
    Ok(())
}
