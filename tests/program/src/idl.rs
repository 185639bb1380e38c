//! The committed IDL, as far as the tests need it: the instructions and the names of their accounts.

use std::{fs, path::Path, sync::OnceLock};

use serde::Deserialize;
use solana_instruction::Instruction;

#[derive(Debug, Deserialize)]
pub struct IdlInstruction {
    pub name: String,
    pub discriminator: Vec<u8>,
    pub accounts: Vec<IdlAccount>,
}

#[derive(Debug, Deserialize)]
pub struct IdlAccount {
    pub name: String,
}

/// All instructions of the program.
pub fn instructions() -> &'static [IdlInstruction] {
    #[derive(Deserialize)]
    struct Idl {
        instructions: Vec<IdlInstruction>,
    }
    static IDL: OnceLock<Idl> = OnceLock::new();
    let idl = IDL.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../idl/agent_marketplace.json");
        serde_json::from_str(&fs::read_to_string(path).expect("the IDL is there")).expect("the IDL is read")
    });
    &idl.instructions
}

/// What the IDL says about `instruction`.
#[track_caller]
pub fn of(instruction: &Instruction) -> &'static IdlInstruction {
    let found = instructions().iter().find(|known| instruction.data.starts_with(&known.discriminator));
    found.expect("an instruction of the IDL")
}
