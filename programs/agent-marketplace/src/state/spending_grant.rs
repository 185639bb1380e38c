//! `SpendingGrant`: what one session key (an API key) may spend of a wallet's USDC.

use anchor_lang::prelude::*;

use super::{
    invariant::{Violation, claim},
    layout::{DISCRIMINATOR_LEN, Versioned},
};
use crate::error::{MarketplaceError, Rule, rule};

/// Agents a grant can be limited to.
pub const MAX_ALLOWED_AGENTS: usize = 8;

const SECONDS_PER_DAY: u64 = 86_400;

/// Seeds: `["grant", wallet, session_key]`.
#[account(zero_copy)]
#[derive(Debug)]
pub struct SpendingGrant {
    pub wallet: Pubkey,
    pub session_key: Pubkey,
    /// The first `allowed_agents_len` entries; none means any agent.
    pub allowed_agents: [Pubkey; MAX_ALLOWED_AGENTS],
    pub revision: u64,
    /// Most that one call may cost.
    pub per_call_cap: u64,
    /// Most that all calls together may cost.
    pub total_cap: u64,
    /// Amounts of the executions opened with the grant. A refund subtracts the amount again.
    pub spent: u64,
    /// Most that the calls of one UTC day may cost; 0: the day is not limited.
    pub daily_cap: u64,
    /// Amounts of the executions opened on day [`Self::day`]. A refund on that day subtracts the amount again.
    pub spent_on_day: u64,
    /// Day of the last opening, counted from 1970.
    pub day: u64,
    /// Last second in which the grant opens executions.
    pub expires_at_unix_s: i64,
    pub created_at_unix_s: i64,
    /// Executions opened with the grant.
    pub executions: u64,
    pub allowed_agents_len: u8,
    /// 1: revoked permanently.
    pub revoked: u8,
    pub version: u8,
    pub bump: u8,
    /// Bump of the wallet's spender address.
    pub spender_bump: u8,
    pub reserved: [u8; 3],
}

impl Versioned for SpendingGrant {
    fn version(&self) -> u8 {
        self.version
    }
}

impl SpendingGrant {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::GRANT;
    pub const SPENDER_SEED: &'static [u8] = crtx_protocol::seeds::SPENDER;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();

    /// The agents the grant is limited to; empty means any.
    pub fn allowed_agents(&self) -> &[Pubkey] {
        self.allowed_agents.get(..usize::from(self.allowed_agents_len)).unwrap_or(&self.allowed_agents)
    }

    pub fn set_allowed_agents(&mut self, agents: &[Pubkey]) -> Rule {
        let places = self.allowed_agents.split_at_mut_checked(agents.len());
        let (used, unused) = places.ok_or(MarketplaceError::TooManyAllowedAgents)?;
        used.copy_from_slice(agents);
        unused.fill(Pubkey::default());
        self.allowed_agents_len = u8::try_from(agents.len()).map_err(|_| MarketplaceError::TooManyAllowedAgents)?;
        Ok(())
    }

    pub fn check_session_key(session_key: &Pubkey, wallet: &Pubkey) -> Rule {
        rule(*session_key != Pubkey::default() && session_key != wallet, MarketplaceError::SessionKeyInvalid)
    }

    pub fn check_caps(per_call_cap: u64, total_cap: u64) -> Rule {
        rule(per_call_cap > 0 && total_cap > 0, MarketplaceError::GrantCapZero)
    }

    /// The day of a time, counted from 1970.
    pub fn day_of(unix_s: i64) -> u64 {
        u64::try_from(unix_s).unwrap_or(0) / SECONDS_PER_DAY
    }

    /// What the day's calls have cost so far.
    pub fn spent_on(&self, day: u64) -> u64 {
        if self.day == day { self.spent_on_day } else { 0 }
    }

    /// Subtracts a refunded execution. Nothing about a grant may block a refund.
    pub fn give_back(&mut self, amount: u64, opened_at_unix_s: i64) {
        self.spent = self.spent.saturating_sub(amount);
        if self.day == Self::day_of(opened_at_unix_s) {
            self.spent_on_day = self.spent_on_day.saturating_sub(amount);
        }
    }

    /// What holds for every grant that the program writes. `spent` may exceed a total cap that was lowered
    /// later.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        Self::check_session_key(&self.session_key, &self.wallet)?;
        Self::check_caps(self.per_call_cap, self.total_cap)?;
        let allowed = usize::from(self.allowed_agents_len);
        rule(allowed <= MAX_ALLOWED_AGENTS, MarketplaceError::TooManyAllowedAgents)?;
        claim(self.revoked <= 1, "revoked is neither 0 nor 1")?;
        claim(self.spent_on_day <= self.spent, "more on a day than in total")?;
        claim(self.executions > 0 || self.spent == 0, "spent without an execution")
    }
}

const _: () = assert!(core::mem::size_of::<SpendingGrant>() == 408);
