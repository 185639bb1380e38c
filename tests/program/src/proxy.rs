//! A program that only calls another one: the first account of its instruction is the program to call, the
//! other accounts and the data are passed on. It is built into the VM as native code; the call uses the
//! runtime's own cross-program invocation.

use anchor_lang::prelude::Pubkey;
use solana_instruction::{AccountMeta, Instruction, error::InstructionError};
use solana_program_runtime::declare_process_instruction;

pub const PROXY_PROGRAM_ID: Pubkey = Pubkey::new_from_array([0x99; 32]);

declare_process_instruction!(Entrypoint, 1_000, |invoke_context| {
    let inner = {
        let context = invoke_context.transaction_context.get_current_instruction_context()?;
        let mut accounts = Vec::new();
        for index in 0..context.get_number_of_instruction_accounts() {
            let key = *context.get_key_of_instruction_account(index)?;
            accounts.push(AccountMeta {
                pubkey: key,
                is_signer: context.is_instruction_account_signer(index)?,
                is_writable: context.is_instruction_account_writable(index)?,
            });
        }
        if accounts.is_empty() {
            return Err(InstructionError::MissingAccount);
        }
        let program_id = accounts.remove(0).pubkey;
        Instruction { program_id, accounts, data: context.get_instruction_data().to_vec() }
    };
    invoke_context.native_invoke_signed(inner, &[])
});

/// `inner`, called through the proxy.
pub fn through_proxy(inner: Instruction) -> Instruction {
    let mut accounts = vec![AccountMeta::new_readonly(inner.program_id, false)];
    accounts.extend(inner.accounts);
    Instruction { program_id: PROXY_PROGRAM_ID, accounts, data: inner.data }
}
