//! The gate's reading of the instructions sysvar, against a second parser that was written from the layout in
//! docs/specification.md. Input: a byte that chooses the message, and the bytes of the sysvar.

use agent_marketplace::ed25519_gate::ED25519_PROGRAM_ID;
use crtx_protocol::{
    call_text::{self, OpeningId},
    failure_text, result_text,
};

/// The key that must have signed.
const KEY: [u8; 32] = [7; 32];
const HASH: [u8; 32] = [9; 32];
const OPENING: OpeningId = OpeningId { record: [6; 32], opened_at_unix_s: 1_700_000_000 };

// What the program's file takes from the other files of the program.
mod error {
    pub use agent_marketplace::error::MarketplaceError;
}
mod id {
    pub use agent_marketplace::ID;
}

/// The program's own file.
#[expect(dead_code, reason = "the target uses a part of the file")]
mod program {
    include!(concat!(env!("OUT_DIR"), "/ed25519_gate.rs"));

    pub fn accepts<const N: usize>(sysvar: &[u8], message: &[u8; N]) -> bool {
        check_bytes(sysvar, &ID, &Pubkey::new_from_array(super::KEY), message).is_ok()
    }
}

pub fn run(data: &[u8]) {
    let Some((choice, sysvar)) = data.split_first() else { return };
    match choice % 3 {
        0 => compare(sysvar, &result_text::of(&HASH)),
        1 => compare(sysvar, &call_text::of(&OPENING, &HASH)),
        _ => compare(sysvar, &failure_text::of(&OPENING)),
    }
}

fn compare<const N: usize>(sysvar: &[u8], message: &[u8; N]) {
    let shown = shows_proof(sysvar, message).is_some();
    assert_eq!(program::accepts(sysvar, message), shown, "the gate and the second parser disagree");
}

/// `Some` exactly if an instruction of the program runs, and the one before it is the canonical proof.
fn shows_proof(sysvar: &[u8], message: &[u8]) -> Option<()> {
    let (list, current) = sysvar.split_at_checked(sysvar.len().checked_sub(2)?)?;
    let current = number(current, 0)?;
    let (_, ours, _) = instruction(list, current)?;
    let (accounts, program, data) = instruction(list, current.checked_sub(1)?)?;
    let proved = ours == agent_marketplace::ID.as_array()
        && program == ED25519_PROGRAM_ID.as_array()
        && accounts.is_empty()
        && is_canonical(data, &KEY, message);
    proved.then_some(())
}

/// Whether the Ed25519 program's data is the one accepted shape for this key and this message, with any signature.
pub fn is_canonical(data: &[u8], key: &[u8; 32], message: &[u8]) -> bool {
    let (Some(signature), Ok(size)) = (data.get(48..112), u8::try_from(message.len())) else { return false };
    let header = [1, 0, 48, 0, 255, 255, 16, 0, 255, 255, 112, 0, size, 0, 255, 255];
    data == [&header[..], key, signature, message].concat()
}

/// Accounts, program and data of one instruction.
fn instruction(list: &[u8], index: usize) -> Option<(&[u8], &[u8], &[u8])> {
    (index < number(list, 0)?).then_some(())?;
    let accounts_at = number(list, 2 + 2 * index)? + 2;
    let program_at = accounts_at + 33 * number(list, accounts_at - 2)?;
    let data_at = program_at + 34;
    let accounts = list.get(accounts_at..program_at)?;
    let program = list.get(program_at..data_at - 2)?;
    let data = list.get(data_at..data_at + number(list, data_at - 2)?)?;
    Some((accounts, program, data))
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])))
}
