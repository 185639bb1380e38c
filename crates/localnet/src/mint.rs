//! Instructions that make the mint of the local USDC.

use crtx_chain::token::{TOKEN_PROGRAM_ID, USDC_DECIMALS};
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

/// Size of a mint in bytes.
pub const MINT_LEN: u64 = 82;

/// Creates the account of the mint, which belongs to the token program.
pub fn create_account(payer: &Pubkey, mint: &Pubkey, lamports: u64) -> Instruction {
    let mut data = 0u32.to_le_bytes().to_vec();
    data.extend_from_slice(&lamports.to_le_bytes());
    data.extend_from_slice(&MINT_LEN.to_le_bytes());
    data.extend_from_slice(TOKEN_PROGRAM_ID.as_ref());
    let accounts = vec![AccountMeta::new(*payer, true), AccountMeta::new(*mint, true)];
    Instruction { program_id: system_program::ID, accounts, data }
}

/// `InitializeMint2`, without a freeze authority.
pub fn initialize_mint(mint: &Pubkey, authority: &Pubkey) -> Instruction {
    let mut data = vec![20, USDC_DECIMALS];
    data.extend_from_slice(authority.as_ref());
    data.push(0);
    Instruction { program_id: TOKEN_PROGRAM_ID, accounts: vec![AccountMeta::new(*mint, false)], data }
}
