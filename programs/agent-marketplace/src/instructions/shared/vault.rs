//! Payments out of a token account that belongs to a listing: its escrow or its collateral.

use anchor_lang::prelude::*;

use crate::{account::Current, state::AgentListed, token};

/// A token account of a listing; the listing signs for it.
pub struct Vault<'a, 'info> {
    pub agent: &'a AccountLoader<'info, AgentListed>,
    pub account: &'a AccountInfo<'info>,
    pub usdc_mint: &'a AccountInfo<'info>,
}

impl<'info> Vault<'_, 'info> {
    /// Pays `amount` to `destination`. An amount of zero needs no payment.
    #[inline(never)]
    pub fn pay(&self, destination: &AccountInfo<'info>, amount: u64) -> Result<()> {
        if amount == 0 {
            return Ok(());
        }
        self.signed(|seeds| {
            token::transfer(self.account, self.usdc_mint, destination, self.agent.as_ref(), amount, seeds)
        })
    }

    /// Pays out the whole balance, with what strangers sent there, and closes the account.
    pub fn empty_and_close(&self, token_to: &AccountInfo<'info>, rent_to: &AccountInfo<'info>) -> Result<()> {
        self.pay(token_to, token::balance(self.account)?)?;
        self.signed(|seeds| token::close_account(self.account, rent_to, self.agent.as_ref(), seeds))
    }

    #[inline(always)]
    fn signed(&self, call: impl FnOnce(&[&[&[u8]]]) -> Result<()>) -> Result<()> {
        let (creator, index, bump) = {
            let agent = self.agent.read()?;
            (agent.creator, agent.index.to_le_bytes(), [agent.bump])
        };
        let seeds: &[&[u8]] = &[AgentListed::SEED, creator.as_ref(), &index, &bump];
        call(&[seeds])
    }
}
