//! `answer_dispute`: the creator answers a caller's claim with evidence of its own.

use anchor_lang::prelude::*;

use super::shared::{dispute, text_argument};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{AgentListed, Dispute, ExecutionRecord},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct AnswerDisputeArgs {
    /// SHA-256 of the creator's evidence document.
    pub answer_hash: [u8; 32],
    /// Where the document is.
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read"))]
    pub answer_uri: String,
}

#[derive(Accounts)]
pub struct AnswerDispute<'info> {
    pub creator: Signer<'info>,
    pub agent: AccountLoader<'info, AgentListed>,
    pub record: AccountLoader<'info, ExecutionRecord>,
    #[account(mut)]
    pub dispute: AccountLoader<'info, Dispute>,
}

impl AnswerDispute<'_> {
    fn validate(&self, args: &AnswerDisputeArgs) -> Result<()> {
        ensure(self.agent.read()?.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        dispute::check_open(&self.agent, &self.record, &self.dispute)?;
        ensure(self.dispute.read()?.answered_at_unix_s == 0, MarketplaceError::DisputeAnswered)?;
        Dispute::check_evidence_hash(&args.answer_hash)?;
        Ok(Dispute::check_evidence_uri(&args.answer_uri)?)
    }
}

/// Rules (docs/specification.md, "Dispute states"):
/// - called by the creator, once, while the dispute is open; later than 24 hours too, if it is not decided yet;
/// - needs the hash of the evidence and where it is.
pub(crate) fn handler(ctx: Context<AnswerDispute>, args: AnswerDisputeArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let mut dispute = ctx.accounts.dispute.write()?;
    dispute.answer_hash = args.answer_hash;
    dispute.set_answer_uri(&args.answer_uri)?;
    dispute.answered_at_unix_s = now;
    dispute.revision = account::next_revision(dispute.revision)?;
    Ok(())
}
