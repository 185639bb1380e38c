//! Collateral and the accounts it moves through: what depositing, withdrawing, slashing and closing share.

use anchor_lang::prelude::*;

use crate::{
    error::{MarketplaceError, ensure},
    state::AgentListing,
    token,
};

/// Refuses every account but the listing's own collateral account.
pub(super) fn check_vault(vault: &AccountInfo, agent_address: &Pubkey, agent: &AgentListing) -> Result<()> {
    let seeds: &[&[u8]] = &[AgentListing::COLLATERAL_SEED, agent_address.as_ref(), &[agent.collateral_bump]];
    let address = Pubkey::create_program_address(seeds, &crate::ID).unwrap_or_default();
    ensure(*vault.key == address, MarketplaceError::WrongCollateralVault)
}

/// Passes once nobody can have a claim on the collateral any more: delisted, nothing open, the last
/// dispute window over.
pub(super) fn check_unclaimed(agent: &AgentListing, now_unix_s: i64) -> Result<()> {
    ensure(agent.status == crate::state::AgentStatus::Delisted as u8, MarketplaceError::AgentNotDelisted)?;
    ensure(agent.open_executions == 0, MarketplaceError::ExecutionsOpen)?;
    ensure(agent.open_disputes == 0, MarketplaceError::DisputesOpen)?;
    ensure(now_unix_s > agent.last_dispute_deadline_unix_s, MarketplaceError::DisputeWindowRunning)
}

/// A listing that signs for one of its token accounts.
pub(super) struct Vault<'a, 'info> {
    pub agent: &'a AccountLoader<'info, AgentListing>,
    pub account: &'a AccountInfo<'info>,
    pub usdc_mint: &'a AccountInfo<'info>,
}

impl<'info> Vault<'_, 'info> {
    /// Pays `amount` to `destination`. Nothing is paid for zero.
    pub fn pay(&self, destination: &AccountInfo<'info>, amount: u64) -> Result<()> {
        if amount == 0 {
            return Ok(());
        }
        self.signed(|seeds| {
            token::transfer(self.account, self.usdc_mint, destination, self.agent.as_ref(), amount, seeds)
        })
    }

    /// Pays out whatever is there, dust that others sent included, and closes the account.
    pub fn empty_and_close(&self, token_to: &AccountInfo<'info>, rent_to: &AccountInfo<'info>) -> Result<()> {
        self.pay(token_to, token::balance(self.account)?)?;
        self.signed(|seeds| token::close_account(self.account, rent_to, self.agent.as_ref(), seeds))
    }

    fn signed(&self, call: impl FnOnce(&[&[&[u8]]]) -> Result<()>) -> Result<()> {
        let (creator, index, bump) = {
            let agent = self.agent.load()?;
            (agent.creator, agent.index.to_le_bytes(), [agent.bump])
        };
        let seeds: &[&[u8]] = &[AgentListing::SEED, creator.as_ref(), &index, &bump];
        call(&[seeds])
    }
}
