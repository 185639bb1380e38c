//! Rules of the collateral that deposit, withdrawal, slash and closing share.

use anchor_lang::prelude::*;

use crate::{
    error::{MarketplaceError, ensure},
    id::ID,
    state::{AgentListed, AgentStatus},
};

/// Refuses every account except the listing's own collateral account.
pub fn check_vault(vault: &AccountInfo, agent_address: &Pubkey, agent: &AgentListed) -> Result<()> {
    let seeds: &[&[u8]] = &[AgentListed::COLLATERAL_SEED, agent_address.as_ref(), &[agent.collateral_bump]];
    let address = Pubkey::create_program_address(seeds, &ID).unwrap_or_default();
    ensure(*vault.key == address, MarketplaceError::WrongCollateralVault)
}

/// Passes when nobody can raise a claim on the collateral any more: the agent is delisted, no execution is open, and the
/// last dispute window is over. Disputes that were raised before may be open.
pub fn check_left(agent: &AgentListed, now_unix_s: i64) -> Result<()> {
    ensure(agent.status == AgentStatus::Delisted as u8, MarketplaceError::AgentNotDelisted)?;
    ensure(agent.open_executions == 0, MarketplaceError::ExecutionsOpen)?;
    ensure(now_unix_s > agent.last_dispute_deadline_unix_s, MarketplaceError::DisputeWindowRunning)
}
