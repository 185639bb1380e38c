//! `grant_spending`: a wallet lets one session key (an API key) open executions with its USDC.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    id::ID,
    state::{LAYOUT_VERSION, SpendingGrant},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct GrantSpendingArgs {
    pub session_key: Pubkey,
    /// Most that one call may cost, in USDC base units.
    pub per_call_cap: u64,
    /// Most that all calls together may cost, including what was spent before.
    pub total_cap: u64,
    /// Most that the calls of one UTC day may cost; 0: the day is not limited.
    pub daily_cap: u64,
    /// Last second in which the grant opens executions.
    pub expires_at_unix_s: i64,
    /// At most 8; empty means any agent.
    pub allowed_agents: Vec<Pubkey>,
}

#[derive(Accounts)]
pub struct GrantSpending<'info> {
    /// Whose USDC is spent; pays the rent.
    #[account(mut)]
    pub wallet: Signer<'info>,
    /// CHECK: at its canonical address; created here the first time.
    #[account(mut)]
    pub grant: UncheckedAccount<'info>,
    /// CHECK: at its canonical address; the SPL delegate that the wallet approves.
    pub spender: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl<'info> GrantSpending<'info> {
    fn validate(&'info self, args: &GrantSpendingArgs, now_unix_s: i64) -> Result<SpendingGrant> {
        ensure(args.expires_at_unix_s > now_unix_s, MarketplaceError::GrantExpiryPast)?;
        let mut grant = self.present_or_new(&args.session_key, now_unix_s)?;
        ensure(grant.revoked == 0, MarketplaceError::GrantRevoked)?;
        grant.per_call_cap = args.per_call_cap;
        grant.total_cap = args.total_cap;
        grant.daily_cap = args.daily_cap;
        grant.expires_at_unix_s = args.expires_at_unix_s;
        grant.set_allowed_agents(&args.allowed_agents)?;
        grant.invariant()?;
        Ok(grant)
    }

    /// The grant at its canonical address, with its next revision and without new limits yet.
    fn present_or_new(&'info self, session_key: &Pubkey, now_unix_s: i64) -> Result<SpendingGrant> {
        let wallet = self.wallet.key;
        let seeds: &[&[u8]] = &[SpendingGrant::SEED, wallet.as_ref(), session_key.as_ref()];
        let bump = account::canonical_bump(&self.grant, seeds)?;
        let spender_bump = account::canonical_bump(&self.spender, &[SpendingGrant::SPENDER_SEED, wallet.as_ref()])?;
        if account::exists(&self.grant) {
            let mut grant = *AccountLoader::<SpendingGrant>::try_from(&self.grant)?.read()?;
            grant.revision = account::next_revision(grant.revision)?;
            return Ok(grant);
        }
        account::check_vacant(&self.grant)?;
        Ok(SpendingGrant {
            wallet: *wallet,
            session_key: *session_key,
            revision: 1,
            created_at_unix_s: now_unix_s,
            version: LAYOUT_VERSION,
            bump,
            spender_bump,
            ..Zeroable::zeroed()
        })
    }
}

/// Rules (docs/specification.md, "Spending grant"):
/// - called by the wallet; creates the grant or changes its limits, and keeps what was spent;
/// - a revoked grant stays revoked;
/// - the SPL approval of the spender address is a separate instruction of the token program.
pub(crate) fn handler<'info>(ctx: Context<'info, GrantSpending<'info>>, args: GrantSpendingArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let grant = accounts.validate(&args, now)?;
    if !account::exists(&accounts.grant) {
        let seeds: &[&[u8]] = &[SpendingGrant::SEED, grant.wallet.as_ref(), grant.session_key.as_ref(), &[grant.bump]];
        account::create(&accounts.wallet, &accounts.grant, SpendingGrant::SPACE, &ID, seeds)?;
    }
    account::write(&accounts.grant, &grant)
}
