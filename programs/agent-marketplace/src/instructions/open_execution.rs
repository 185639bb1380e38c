//! `open_execution`: a wallet pays a call into escrow.

use anchor_lang::prelude::*;

pub use super::opening::OpenExecutionArgs;
use super::opening::Opening;
use crate::{
    account,
    error::MarketplaceError,
    state::{AgentListing, Config},
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
    pub agent: AccountLoader<'info, AgentListing>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes.
    #[account(mut)]
    pub caller_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

/// Specification (1.3, 1.4):
/// - called by the wallet that pays; anybody may pay the rent;
/// - refused while paused, for an agent that is not active, and for a price above `max_amount`;
/// - the same execution id of the same wallet opens once.
pub(crate) fn handler(ctx: Context<OpenExecution>, args: OpenExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let opening = Opening {
        caller: accounts.caller.key,
        grant: Pubkey::default(),
        payer: &accounts.payer,
        config: &accounts.config,
        agent: &accounts.agent,
        record: &accounts.record,
        source: &accounts.caller_token,
        authority: &accounts.caller,
        escrow: &accounts.escrow,
        usdc_mint: &accounts.usdc_mint,
    };
    opening.execute(&args, account::now_unix_s()?, &[], |_| Ok(()))
}
