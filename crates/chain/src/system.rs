//! Instructions of the system program, as far as a set-up needs them.

use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::{Pubkey, PubkeyError};
use solana_sdk_ids::system_program;

const CREATE_ACCOUNT: u32 = 0;
const TRANSFER: u32 = 2;
const CREATE_ACCOUNT_WITH_SEED: u32 = 3;

/// A new account: what it holds, how large it is, and which program owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAccount {
    pub lamports: u64,
    /// Length of its data.
    pub bytes: u64,
    pub owner: Pubkey,
}

impl NewAccount {
    fn encode_into(&self, data: &mut Vec<u8>) {
        data.extend_from_slice(&self.lamports.to_le_bytes());
        data.extend_from_slice(&self.bytes.to_le_bytes());
        data.extend_from_slice(self.owner.as_ref());
    }
}

/// Creates an account whose key pair signs too.
pub fn create_account(payer: &Pubkey, address: &Pubkey, account: NewAccount) -> Instruction {
    let mut data = CREATE_ACCOUNT.to_le_bytes().to_vec();
    account.encode_into(&mut data);
    let accounts = vec![AccountMeta::new(*payer, true), AccountMeta::new(*address, true)];
    Instruction { program_id: system_program::ID, accounts, data }
}

/// Creates an account at an address that follows from the payer's, `seed` and the owner, so that a second run finds it.
pub fn create_account_with_seed(
    payer: &Pubkey,
    seed: &str,
    account: NewAccount,
) -> Result<(Pubkey, Instruction), PubkeyError> {
    let address = Pubkey::create_with_seed(payer, seed, &account.owner)?;
    let mut data = CREATE_ACCOUNT_WITH_SEED.to_le_bytes().to_vec();
    data.extend_from_slice(payer.as_ref());
    data.extend_from_slice(&u64::try_from(seed.len()).unwrap_or(u64::MAX).to_le_bytes());
    data.extend_from_slice(seed.as_bytes());
    account.encode_into(&mut data);
    let accounts = vec![AccountMeta::new(*payer, true), AccountMeta::new(address, false)];
    Ok((address, Instruction { program_id: system_program::ID, accounts, data }))
}

/// Moves lamports between wallets.
pub fn transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    let mut data = TRANSFER.to_le_bytes().to_vec();
    data.extend_from_slice(&lamports.to_le_bytes());
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*to, false)];
    Instruction { program_id: system_program::ID, accounts, data }
}
