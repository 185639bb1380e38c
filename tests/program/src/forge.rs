//! Instructions that are not as they should be. Each starts from a correct one.

use agent_marketplace::ed25519_gate::INSTRUCTIONS_SYSVAR_ID;
use anchor_lang::prelude::Pubkey;
use solana_instruction::{AccountMeta, Instruction};

use crate::{idl, people::Actor};

#[track_caller]
fn index_of(instruction: &Instruction, name: &str) -> usize {
    let described = idl::of(instruction);
    let index = described.accounts.iter().position(|account| account.name == name);
    index.unwrap_or_else(|| panic!("{} has no account `{name}`", described.name))
}

/// The address of the account `name`, as the IDL names it.
#[track_caller]
pub fn account_of(instruction: &Instruction, name: &str) -> Pubkey {
    instruction.accounts[index_of(instruction, name)].pubkey
}

/// `instruction` with other addresses for the named accounts.
#[track_caller]
pub fn forged(mut instruction: Instruction, changes: &[(&str, Pubkey)]) -> Instruction {
    for (name, address) in changes {
        let index = index_of(&instruction, name);
        instruction.accounts[index].pubkey = *address;
    }
    instruction
}

/// `instruction` with another first account, which is its signer.
pub fn signed_by(mut instruction: Instruction, signer: &Actor) -> Instruction {
    instruction.accounts[0].pubkey = signer.key();
    instruction
}

/// A report of a failure that claims to be signed by the agent.
pub fn claiming_a_signature(fail: Instruction) -> Instruction {
    let mut fail = forged(fail, &[("instructions_sysvar", INSTRUCTIONS_SYSVAR_ID)]);
    *fail.data.last_mut().expect("the last argument") = 1;
    fail
}

/// `instruction` without a signature that it needs.
pub fn unsigned(mut instruction: Instruction, signer: &Pubkey) -> Instruction {
    let of_signer = |meta: &&mut AccountMeta| meta.pubkey == *signer;
    instruction.accounts.iter_mut().filter(of_signer).for_each(|meta| meta.is_signer = false);
    instruction
}
