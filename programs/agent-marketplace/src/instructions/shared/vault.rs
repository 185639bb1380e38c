//! Payments out of a token account that belongs to a listing: its escrow or its collateral.

use anchor_lang::prelude::*;

use crate::{state::AgentListed, token};

/// A token account of a listing; the listing signs for it.
pub struct Vault<'a, 'info> {
    agent: &'a AccountInfo<'info>,
    creator: Pubkey,
    index: [u8; 4],
    bump: [u8; 1],
    account: &'a AccountInfo<'info>,
    usdc_mint: &'a AccountInfo<'info>,
}

impl<'a, 'info> Vault<'a, 'info> {
    /// `listing` is the content of `agent`.
    #[inline(always)]
    pub fn new(
        agent: &'a AccountInfo<'info>,
        listing: &AgentListed,
        account: &'a AccountInfo<'info>,
        usdc_mint: &'a AccountInfo<'info>,
    ) -> Self {
        let (creator, index, bump) = (listing.creator, listing.index.to_le_bytes(), [listing.bump]);
        Self { agent, creator, index, bump, account, usdc_mint }
    }

    /// Pays `amount` to `destination`. An amount of zero needs no payment.
    pub fn pay(&self, destination: &AccountInfo<'info>, amount: u64) -> Result<()> {
        self.pay_each(&[(destination, amount)])
    }

    /// Pays an amount to each destination.
    #[inline(never)]
    pub fn pay_each(&self, payments: &[(&AccountInfo<'info>, u64)]) -> Result<()> {
        token::transfer_each(self.account, self.usdc_mint, self.agent, payments, &[&self.seeds()])
    }

    /// Pays out the whole balance, with what strangers sent there, and closes the account.
    pub fn empty_and_close(&self, token_to: &AccountInfo<'info>, rent_to: &AccountInfo<'info>) -> Result<()> {
        self.pay(token_to, token::balance(self.account)?)?;
        token::close_account(self.account, rent_to, self.agent, &[&self.seeds()])
    }

    #[inline(always)]
    fn seeds(&self) -> [&[u8]; 4] {
        [AgentListed::SEED, self.creator.as_ref(), &self.index, &self.bump]
    }
}
