//! `open_dispute`: a caller disputes a completed execution.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use super::shared::{dispute::Claim, text_argument};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    id::ID,
    state::{
        AgentListed, Config, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, LAYOUT_VERSION, Settler,
        first_revision,
    },
    token,
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
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub dispute: UncheckedAccount<'info>,
    /// CHECK: pays the bond; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub caller_token: UncheckedAccount<'info>,
    /// CHECK: holds the bond; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: moves the bond; by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl OpenDispute<'_> {
    fn validate(&self, args: &OpenDisputeArgs, now_unix_s: i64) -> Result<(Dispute, Claim)> {
        let (config, record, address) = (self.config.read()?, self.record.read()?, self.record.as_ref().key);
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        ensure(record.caller == *self.caller.key, MarketplaceError::NotCaller)?;
        ensure(record.agent == *self.agent.as_ref().key, MarketplaceError::WrongAgent)?;
        ensure(
            record.status == ExecutionStatus::Completed as u8 && record.dispute_count == 0,
            MarketplaceError::NotDisputable,
        )?;
        ensure(record.settled_by() != Some(Settler::Caller), MarketplaceError::SettledByCaller)?;
        let deadline = record.dispute_deadline_unix_s().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(now_unix_s <= deadline, MarketplaceError::DisputeWindowOver)?;
        let agent = self.agent.read()?;
        ensure(*self.escrow.key == agent.escrow, MarketplaceError::WrongEscrow)?;
        token::check_account(&self.caller_token, self.usdc_mint.key, self.caller.key)?;
        let claim = Claim::new(&record, &agent, config.parameters.dispute_bond)?;
        let mut dispute = Dispute {
            execution: *address,
            agent: record.agent,
            raised_by: *self.caller.key,
            rent_payer: *self.payer.key,
            evidence_hash: args.evidence_hash,
            revision: first_revision(now_unix_s).or_refuse(MarketplaceError::OutOfRange)?,
            raised_at_unix_s: now_unix_s,
            bond: claim.bond,
            covered_amount: claim.covered,
            outcome: DisputeOutcome::Open as u8,
            version: LAYOUT_VERSION,
            bump: account::canonical_bump(&self.dispute, &[Dispute::SEED, address.as_ref()])?,
            ..Zeroable::zeroed()
        };
        dispute.set_evidence_uri(&args.evidence_uri)?;
        dispute.invariant()?;
        account::check_vacant(&self.dispute)?;
        Ok((dispute, claim))
    }

    fn count(&self, claim: &Claim, now_unix_s: i64) -> Result<()> {
        let mut record = self.record.write()?;
        record.status = ExecutionStatus::Disputed as u8;
        record.dispute_count = 1;
        record.revision = account::next_revision(record.revision)?;
        claim.raise(&mut *self.agent.write()?, now_unix_s)
    }
}

/// Rules (docs/specification.md, "Dispute states"):
/// - called by the caller of a completed execution, once, within the dispute window, unless the caller settled it;
/// - needs the hash of the evidence and where it is; also possible if the program is paused or the agent paused or delisted;
/// - the caller deposits the bond of the configuration, and gets it back unless the resolver finds the dispute abusive;
/// - of the collateral, the claim gets what claims before it have left, and keeps it until it is decided.
pub(crate) fn handler(ctx: Context<OpenDispute>, args: OpenDisputeArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let (dispute, claim) = accounts.validate(&args, now)?;
    accounts.count(&claim, now)?;
    let seeds: &[&[u8]] = &[Dispute::SEED, dispute.execution.as_ref(), &[dispute.bump]];
    account::create(&accounts.payer, &accounts.dispute, Dispute::SPACE, &ID, seeds)?;
    account::write(&accounts.dispute, &dispute)?;
    if claim.bond == 0 {
        return Ok(());
    }
    let (from, to) = (&accounts.caller_token, &accounts.escrow);
    token::transfer(from, &accounts.usdc_mint, to, &accounts.caller, claim.bond, &[])
}
