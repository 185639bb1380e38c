//! The bytes of an account, from its fields.

use agent_marketplace::state::{AgentListed, Config, CreatorProfile, Dispute, ExecutionRecord, SpendingGrant};
use anchor_lang::Discriminator;

use crate::mirror::ExecutionAccount;

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
