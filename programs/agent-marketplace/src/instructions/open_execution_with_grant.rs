//! `open_execution_with_grant`: an API key, which is a session key, pays a call from its wallet.

use anchor_lang::prelude::*;

use super::opening::{OpenExecutionArgs, Opening};
use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListing, Config, SpendingGrant},
    token,
};

#[derive(Accounts)]
pub struct OpenExecutionWithGrant<'info> {
    pub session_key: Signer<'info>,
    /// Pays the record's rent and gets it back when the record is closed.
    #[account(mut)]
    pub payer: Signer<'info>,
    /// CHECK: by address, against the grant.
    pub wallet: UncheckedAccount<'info>,
    #[account(mut)]
    pub grant: AccountLoader<'info, SpendingGrant>,
    /// CHECK: the token program accepts no other delegate than the address signed for here.
    pub spender: UncheckedAccount<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListing>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes.
    #[account(mut)]
    pub wallet_token: UncheckedAccount<'info>,
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

impl OpenExecutionWithGrant<'_> {
    #[inline(always)]
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        let grant = self.grant.load()?;
        ensure(grant.session_key == *self.session_key.key, MarketplaceError::NotSessionKey)?;
        ensure(grant.wallet == *self.wallet.key, MarketplaceError::WrongGrantWallet)?;
        ensure(grant.revoked == 0, MarketplaceError::GrantRevoked)?;
        ensure(now_unix_s <= grant.expires_at_unix_s, MarketplaceError::GrantExpired)?;
        let allowed = grant.allowed_agents();
        ensure(allowed.is_empty() || allowed.contains(self.agent.as_ref().key), MarketplaceError::AgentNotAllowed)
    }

    /// Takes `amount` from what the grant has left.
    #[inline(always)]
    fn spend(&self, amount: u64) -> Result<()> {
        let mut grant = self.grant.load_mut()?;
        ensure(amount <= grant.per_call_cap, MarketplaceError::PerCallCapExceeded)?;
        let spent = grant.spent.checked_add(amount).or_refuse(MarketplaceError::TotalCapExceeded)?;
        ensure(spent <= grant.total_cap, MarketplaceError::TotalCapExceeded)?;
        grant.spent = spent;
        grant.executions = grant.executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        grant.revision = account::next_revision(grant.revision)?;
        Ok(())
    }
}

/// Specification (1.5, 5.4):
/// - called by the grant's session key; anybody may pay fee and rent;
/// - cap per call, total cap, expiry, revocation and allow-list of the grant hold here and nowhere else;
/// - everything else as `open_execution`; a refund goes to the wallet and does not renew the cap.
pub(crate) fn handler(ctx: Context<OpenExecutionWithGrant>, args: OpenExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(now)?;
    let wallet = accounts.wallet.key;
    let spender_bump = [accounts.grant.load()?.spender_bump];
    let spender_seeds: &[&[u8]] = &[SpendingGrant::SPENDER_SEED, wallet.as_ref(), &spender_bump];
    let opening = Opening {
        caller: wallet,
        grant: accounts.grant.key(),
        payer: &accounts.payer,
        config: &accounts.config,
        agent: &accounts.agent,
        record: &accounts.record,
        source: &accounts.wallet_token,
        authority: &accounts.spender,
        escrow: &accounts.escrow,
        usdc_mint: &accounts.usdc_mint,
    };
    opening.execute(&args, now, &[spender_seeds], |amount| accounts.spend(amount))
}
