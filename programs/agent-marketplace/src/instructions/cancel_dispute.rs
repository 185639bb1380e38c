//! `cancel_dispute`: a caller gives a claim up.

use anchor_lang::prelude::*;

use super::shared::dispute::OpenDisputeAccounts;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{AgentListed, Config, Dispute, DisputeOutcome, ExecutionRecord},
    token,
};

#[derive(Accounts)]
pub struct CancelDispute<'info> {
    pub caller: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    #[account(mut)]
    pub dispute: AccountLoader<'info, Dispute>,
    /// CHECK: holds the bond; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: receives the bond; mint, owner and state are read from its bytes; any USDC account of the caller.
    #[account(mut)]
    pub caller_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl<'info> CancelDispute<'info> {
    fn open(&self) -> OpenDisputeAccounts<'_, 'info> {
        OpenDisputeAccounts {
            agent: &self.agent,
            record: &self.record,
            dispute: &self.dispute,
            escrow: &self.escrow,
            bond_token: &self.caller_token,
            usdc_mint: &self.usdc_mint,
        }
    }

    fn validate(&self) -> Result<()> {
        ensure(*self.usdc_mint.key == self.config.read()?.usdc_mint, MarketplaceError::WrongMint)?;
        ensure(self.record.read()?.caller == *self.caller.key, MarketplaceError::NotCaller)?;
        self.open().validate(self.caller.key)
    }
}

/// Rules (docs/specification.md, "Dispute states"):
/// - called by the caller who raised the dispute, while it is open, answered or not;
/// - the caller gets the bond back; the execution is completed again and cannot be disputed a second time.
pub(crate) fn handler(ctx: Context<CancelDispute>) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.validate()?;
    let claim = accounts.open().end(DisputeOutcome::Cancelled, 0, account::now_unix_s()?)?;
    accounts.open().pay_bond(&claim)
}
