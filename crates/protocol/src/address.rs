//! Program-derived addresses, found off chain.

use solana_pubkey::Pubkey;

use crate::seeds;

/// Derives the addresses of one deployment of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    program_id: Pubkey,
    /// Part of nearly every transaction, and the same in all of them.
    config: Pubkey,
}

impl Addresses {
    pub fn new(program_id: Pubkey) -> Self {
        Self { program_id, config: Pubkey::find_program_address(&[seeds::CONFIG], &program_id).0 }
    }

    pub const fn program_id(&self) -> Pubkey {
        self.program_id
    }

    fn find(&self, seeds: &[&[u8]]) -> Pubkey {
        Pubkey::find_program_address(seeds, &self.program_id).0
    }

    pub const fn config(&self) -> Pubkey {
        self.config
    }

    pub fn creator_profile(&self, wallet: &Pubkey) -> Pubkey {
        self.find(&[seeds::CREATOR, wallet.as_ref()])
    }

    /// The listing account; its base58 form is the API's `agent_id`.
    pub fn agent(&self, creator: &Pubkey, index: u32) -> Pubkey {
        self.find(&[seeds::AGENT, creator.as_ref(), &index.to_le_bytes()])
    }

    pub fn escrow(&self, agent: &Pubkey) -> Pubkey {
        self.find(&[seeds::ESCROW, agent.as_ref()])
    }

    pub fn collateral(&self, agent: &Pubkey) -> Pubkey {
        self.find(&[seeds::COLLATERAL, agent.as_ref()])
    }

    /// The on-chain record of one execution. The caller is part of it: two wallets may use the same UUID.
    pub fn execution(&self, caller: &Pubkey, execution_id: &[u8; 16]) -> Pubkey {
        self.find(&[seeds::EXECUTION, caller.as_ref(), execution_id])
    }

    pub fn dispute(&self, execution: &Pubkey) -> Pubkey {
        self.find(&[seeds::DISPUTE, execution.as_ref()])
    }

    pub fn grant(&self, wallet: &Pubkey, session_key: &Pubkey) -> Pubkey {
        self.find(&[seeds::GRANT, wallet.as_ref(), session_key.as_ref()])
    }

    pub fn spender(&self, wallet: &Pubkey) -> Pubkey {
        self.find(&[seeds::SPENDER, wallet.as_ref()])
    }
}
