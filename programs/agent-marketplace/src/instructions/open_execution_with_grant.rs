//! `open_execution_with_grant`: an API key (a session key) pays a call with the USDC of its wallet.

use anchor_lang::prelude::*;

use super::shared::opening::{OpenExecutionArgs, Opened, OpeningAccounts};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Config, SpendingGrant},
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
    pub agent: AccountLoader<'info, AgentListed>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: the wallet's account that pays; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub wallet_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: moves the price for the spender address; by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl<'info> OpenExecutionWithGrant<'info> {
    #[inline(always)]
    fn opening(&self) -> OpeningAccounts<'_, 'info> {
        OpeningAccounts {
            caller: self.wallet.key,
            payer: &self.payer,
            config: &self.config,
            agent: &self.agent,
            record: &self.record,
            source: &self.wallet_token,
            authority: &self.spender,
            escrow: &self.escrow,
            usdc_mint: &self.usdc_mint,
        }
    }

    /// Returns the execution as it will be and what the grant will have spent, in total and today.
    #[inline(always)]
    fn validate(&self, args: &OpenExecutionArgs, now_unix_s: i64) -> Result<(Opened, Spent)> {
        let grant = self.grant.read()?;
        ensure(grant.session_key == *self.session_key.key, MarketplaceError::NotSessionKey)?;
        ensure(grant.wallet == *self.wallet.key, MarketplaceError::WrongGrantWallet)?;
        ensure(grant.revoked == 0, MarketplaceError::GrantRevoked)?;
        ensure(now_unix_s <= grant.expires_at_unix_s, MarketplaceError::GrantExpired)?;
        let allowed = grant.allowed_agents();
        ensure(allowed.is_empty() || allowed.contains(self.agent.as_ref().key), MarketplaceError::AgentNotAllowed)?;
        let opened = self.opening().validate(args, self.grant.key(), now_unix_s)?;
        let amount = opened.record.amount;
        ensure(amount <= grant.per_call_cap, MarketplaceError::PerCallCapExceeded)?;
        let spent = grant.spent.checked_add(amount).or_refuse(MarketplaceError::TotalCapExceeded)?;
        ensure(spent <= grant.total_cap, MarketplaceError::TotalCapExceeded)?;
        let day = SpendingGrant::day_of(now_unix_s);
        let on_day = grant.spent_on(day).checked_add(amount).or_refuse(MarketplaceError::DailyCapExceeded)?;
        ensure(grant.daily_cap == 0 || on_day <= grant.daily_cap, MarketplaceError::DailyCapExceeded)?;
        Ok((opened, Spent { total: spent, day, on_day }))
    }

    /// Counts the execution; returns the bump of the spender address.
    #[inline(always)]
    fn count(&self, spent: &Spent) -> Result<u8> {
        let mut grant = self.grant.write()?;
        grant.spent = spent.total;
        grant.day = spent.day;
        grant.spent_on_day = spent.on_day;
        grant.executions = grant.executions.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        grant.revision = account::next_revision(grant.revision)?;
        Ok(grant.spender_bump)
    }
}

/// What a grant will have spent.
struct Spent {
    total: u64,
    /// Counted from 1970.
    day: u64,
    on_day: u64,
}

/// Rules (docs/specification.md, "Spending grant"):
/// - called by the grant's session key; anybody may pay fee and rent;
/// - only this instruction applies cap per call, total cap, cap per day, expiry, revocation and allow-list of the grant;
/// - everything else as `open_execution`; a refund goes to the wallet and is subtracted from
///   what the grant has spent.
pub(crate) fn handler(ctx: Context<OpenExecutionWithGrant>, args: OpenExecutionArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let (opened, spent) = accounts.validate(&args, now)?;
    let spender_bump = [accounts.count(&spent)?];
    let spender_seeds: &[&[u8]] = &[SpendingGrant::SPENDER_SEED, opened.record.caller.as_ref(), &spender_bump];
    accounts.opening().open(&opened, &[spender_seeds])
}
