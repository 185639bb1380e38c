//! `grant_spending`: a wallet lets one session key (an API key) open executions on its account.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{LAYOUT_VERSION, MAX_ALLOWED_AGENTS, SpendingGrant},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct GrantSpendingArgs {
    pub session_key: Pubkey,
    /// Most that one call may cost, in USDC base units.
    pub per_call_cap: u64,
    /// Most that all calls ever may cost, what was spent before included.
    pub total_cap: u64,
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

impl GrantSpending<'_> {
    fn validate(&self, args: &GrantSpendingArgs, now: i64) -> Result<()> {
        ensure(
            args.session_key != Pubkey::default() && args.session_key != *self.wallet.key,
            MarketplaceError::SessionKeyInvalid,
        )?;
        ensure(args.per_call_cap > 0 && args.total_cap > 0, MarketplaceError::GrantCapZero)?;
        ensure(args.expires_at_unix_s > now, MarketplaceError::GrantExpiryPast)?;
        ensure(args.allowed_agents.len() <= MAX_ALLOWED_AGENTS, MarketplaceError::TooManyAllowedAgents)
    }
}

/// Specification (5.4):
/// - called by the wallet; creates the grant or changes its limits, keeping what was spent;
/// - a revoked grant stays revoked;
/// - the SPL approval of the spender address is a token instruction of its own.
pub(crate) fn handler<'info>(ctx: Context<'info, GrantSpending<'info>>, args: GrantSpendingArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(&args, now)?;
    let wallet = accounts.wallet.key;
    let seeds: &[&[u8]] = &[SpendingGrant::SEED, wallet.as_ref(), args.session_key.as_ref()];
    let bump = account::canonical_bump(&accounts.grant, seeds)?;
    let spender_bump = account::canonical_bump(&accounts.spender, &[SpendingGrant::SPENDER_SEED, wallet.as_ref()])?;
    if account::exists(&accounts.grant) {
        let loader = AccountLoader::<SpendingGrant>::try_from(&accounts.grant)?;
        let mut grant = loader.load_mut()?;
        ensure(grant.revoked == 0, MarketplaceError::GrantRevoked)?;
        grant.revision = account::next_revision(grant.revision)?;
        return write_limits(&mut grant, &args);
    }
    let seeds: &[&[u8]] = &[SpendingGrant::SEED, wallet.as_ref(), args.session_key.as_ref(), &[bump]];
    account::create(&accounts.wallet, &accounts.grant, SpendingGrant::SPACE, ctx.program_id, seeds)?;
    account::initialize::<SpendingGrant>(&accounts.grant, |grant| {
        grant.wallet = *wallet;
        grant.session_key = args.session_key;
        grant.revision = 1;
        grant.created_at_unix_s = now;
        grant.version = LAYOUT_VERSION;
        grant.bump = bump;
        grant.spender_bump = spender_bump;
        write_limits(grant, &args)
    })
}

fn write_limits(grant: &mut SpendingGrant, args: &GrantSpendingArgs) -> Result<()> {
    grant.per_call_cap = args.per_call_cap;
    grant.total_cap = args.total_cap;
    grant.expires_at_unix_s = args.expires_at_unix_s;
    let length = args.allowed_agents.len();
    let (used, unused) =
        grant.allowed_agents.split_at_mut_checked(length).or_refuse(MarketplaceError::TooManyAllowedAgents)?;
    used.copy_from_slice(&args.allowed_agents);
    unused.fill(Pubkey::default());
    grant.allowed_agents_len = u8::try_from(length).ok().or_refuse(MarketplaceError::TooManyAllowedAgents)?;
    Ok(())
}
