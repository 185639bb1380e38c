//! `open_execution`: a wallet pays a call into escrow.

use anchor_lang::prelude::*;

pub use super::shared::opening::OpenExecutionArgs;
use super::shared::opening::{Opened, OpeningAccounts};
use crate::{
    account,
    error::MarketplaceError,
    state::{AgentListed, Config},
    token,
};

#[derive(Accounts)]
pub struct OpenExecution<'info> {
    pub caller: Signer<'info>,
    /// Pays the record's rent and gets it back when the record is closed.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: pays the price; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub caller_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: moves the price for the caller; by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl<'info> OpenExecution<'info> {
    #[inline(always)]
    fn opening(&self) -> OpeningAccounts<'_, 'info> {
        OpeningAccounts {
            caller: self.caller.key,
            payer: &self.payer,
            config: &self.config,
            agent: &self.agent,
            record: &self.record,
            source: &self.caller_token,
            authority: &self.caller,
            escrow: &self.escrow,
            usdc_mint: &self.usdc_mint,
        }
    }

    #[inline(always)]
    fn validate(&self, args: &OpenExecutionArgs, now_unix_s: i64) -> Result<Opened> {
        self.opening().validate(args, Pubkey::default(), now_unix_s)
    }
}

/// Rules (docs/specification.md, "Escrow and refund"):
/// - called by the wallet that pays; anybody may pay the rent;
/// - refused while the program is paused, for an agent that is not active, for the agent's own creator, for a price
///   above `max_amount` or below the minimum, for other terms than those of `terms_hash`, and for free collateral
///   below `min_cover` calls;
/// - the same execution id of the same wallet opens once.
pub(crate) fn handler(ctx: Context<OpenExecution>, args: OpenExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let opened = accounts.validate(&args, now)?;
    accounts.opening().open(&opened, &[])
}
