//! The bytes of an account, from its fields.

use agent_marketplace::state::{AgentListed, Config, CreatorProfile, Dispute, ExecutionRecord, SpendingGrant};
use anchor_lang::Discriminator;

use crtx_protocol::mirror_digest::data_hash;
use solana_pubkey::Pubkey;

use crate::{
    Result,
    mirror::{Batch, ExecutionAccount, Mirrored},
};

/// An account that can be written as the program writes it.
pub trait Encode {
    fn encode(&self) -> Vec<u8>;
}

macro_rules! fixed {
    ($($kind:ident),+) => {
        $(impl Encode for $kind {
            fn encode(&self) -> Vec<u8> {
                [$kind::DISCRIMINATOR, bytemuck::bytes_of(self)].concat()
            }
        })+
    };
}

fixed!(Config, CreatorProfile, AgentListed, Dispute, SpendingGrant);

impl Encode for ExecutionAccount {
    fn encode(&self) -> Vec<u8> {
        let terms = self.terms.as_ref().map(bytemuck::bytes_of).unwrap_or_default();
        [ExecutionRecord::DISCRIMINATOR, bytemuck::bytes_of(&self.record), terms].concat()
    }
}

impl Batch {
    /// Adds an account, whose bytes follow from its fields.
    pub fn push<A: Mirrored + Encode>(&mut self, address: &Pubkey, slot: u64, account: &A) -> Result<()> {
        self.push_read(address, slot, account, &data_hash(&account.encode()))
    }
}
